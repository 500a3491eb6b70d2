"""Links between pages: on disk they lead to the files of the pages that they lead to on a server."""

from posixpath import dirname, join, normpath
from urllib.parse import unquote

from hypothesis import given, strategies as st

from shoe.service.pages.rendering import file_of, server_link, site_link
from tests.examples import examples

names = st.text("ab.-_ é%?#", min_size=1, max_size=6).filter(lambda name: name.strip(".") != "")
paths = st.one_of(
    st.sampled_from(["/", "/runs", "/static/page.css"]),
    names.map(lambda name: f"/maps/{name}"),
    names.map(lambda name: f"/runs/{name}/classes"),
    names.map(lambda name: f"/v1/runs/r/files/{name}"),
)


@examples(2)
@given(here=paths, to=paths)
def test_links_on_disk_lead_where_they_should(here: str, to: str) -> None:
    if "#" in here + to:
        return
    link = site_link(here, {here, to}, to)
    assert normpath(join(dirname(file_of(here)), unquote(link))) == normpath(file_of(to))
    assert site_link(here, {here}, "/absent") == ""


def test_links_of_a_server_lie_below_its_proxys_path() -> None:
    assert server_link("/lab/", "/runs/r_1?a=b") == "/lab/runs/r_1?a=b"
    assert server_link("", '/maps/"é') == "/maps/%22%C3%A9"
