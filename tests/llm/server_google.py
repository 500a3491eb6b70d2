"""Google's OpenAI-compatible endpoint as documented: OpenAI's batches, but files in Google's own form."""

from collections.abc import Callable

import orjson

from tests.llm.http import Heard, Http, Reply, Says, says_json
from tests.llm.server import Endpoint, Server
from tests.llm.server_batches import Batches
from tests.llm.server_plan import Plan

KEY = "AIza-google-hush"


class GoogleBatches(Batches):
    """Batches in OpenAI's form under Google's address, with files in Google's own form, as Google documents them.

    IDs are names of resources ("files/1", "batches/batch-1"). Files take the key by "x-goog-api-key", and batches
    as a bearer; marks ("metadata") are ignored, like all that the documentation does not list. Batches are not listed.
    """

    elsewhere = ""

    def add_to(self, http: Http, checked: Callable[[Reply], Reply]) -> None:
        self._http = http
        native, compatible = ("x-goog-api-key", KEY), ("authorization", f"Bearer {KEY}")
        for method, path, reply, key in (
            ("POST", "/upload/v1beta/files", self.begin, native),
            ("POST", "/upload/v1beta/session", self.finalize, native),
            ("GET", "/download/v1beta/files/{id}:download", self.download, native),
            ("POST", "/v1beta/openai/batches", self.create, compatible),
            ("GET", "/v1beta/openai/batches/batches/{id}", self.retrieve, compatible),
        ):
            http.add(method, path, self._with_key(reply, key))

    def _with_key(self, reply: Reply, key: tuple[str, str]) -> Reply:
        async def replies(heard: Heard) -> Says | None:
            if [pair for pair in heard.headers.items() if pair[0] in ("x-goog-api-key", "authorization")] != [key]:
                return says_json({"error": {"code": 400, "message": "API key not valid."}}, 400)
            return await reply(heard)

        return replies

    async def begin(self, heard: Heard) -> Says:
        headers = {name.removeprefix("x-goog-upload-"): value for name, value in heard.headers.items()}
        assert (headers["protocol"], headers["command"]) == ("resumable", "start")
        assert headers["header-content-type"] == "application/jsonl"
        self._name, self._length = heard.json()["file"]["display_name"], int(headers["header-content-length"])
        place = self.elsewhere or f"http://127.0.0.1:{self._http.port}"
        return says_json({}, headers={"X-Goog-Upload-URL": f"{place}/upload/v1beta/session?upload_id=1"})

    async def finalize(self, heard: Heard) -> Says:
        assert heard.headers["x-goog-upload-command"] == "upload, finalize"
        assert (heard.headers["x-goog-upload-offset"], len(heard.body)) == ("0", self._length)
        name = self._keep(self._name, heard.body, "batch")["id"]
        return says_json({"file": {"name": f"files/{name}", "mimeType": "application/jsonl", "state": "ACTIVE"}})

    async def download(self, heard: Heard) -> Says:
        assert heard.query == {"alt": "media"}
        if heard.match["id"] not in self._files:
            return says_json({"error": {"code": 403, "message": "It may not exist."}}, 403)
        return Says(self._files[heard.match["id"]][1], kind="application/octet-stream")

    def status(self, batch: str) -> str:
        return str(self._batches[batch]["status"])

    def delete_files(self) -> None:
        """Delete all files, as Google does after two days."""
        self._files.clear()

    async def create(self, heard: Heard) -> Says | None:
        asked = heard.json()
        asked.pop("metadata", None)
        asked["input_file_id"] = asked["input_file_id"].removeprefix("files/")
        heard.body = orjson.dumps(asked)
        return _named(await super().create(heard))

    async def retrieve(self, heard: Heard) -> Says | None:
        return _named(await super().retrieve(heard))


def _named(said: Says | None) -> Says | None:
    """Say IDs as names of resources."""
    if said is None or said.status != 200:
        return said
    batch = orjson.loads(said.body)
    files = {name: f"files/{batch[name]}" for name in ("input_file_id", "output_file_id") if name in batch}
    return says_json({**batch, "id": f"batches/{batch['id']}", **files})


class GoogleServer(Server):
    def __init__(self, plan: Plan) -> None:
        self.google, endpoint = GoogleBatches(plan), Endpoint(plan)
        endpoint.batches = self.google
        endpoint.forget()
        super().__init__(plan, endpoint)

    @property
    def url(self) -> str:
        return super().url.removesuffix("/v1") + "/v1beta/openai"
