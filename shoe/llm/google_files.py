"""Files of batches at Google's OpenAI-compatible endpoint, which has OpenAI's batches, but not OpenAI's files.

Files are sent to Google's own Files API, on the same server; their IDs look like "files/abc".
"""

import re
from pathlib import Path
from typing import Any

_ID = re.compile(r"files/[\w-]+")


def upload(client: Any, server: str, name: str, path: Path) -> str:
    """Upload a JSONL file as ``name``, by Google's resumable upload; return its ID ("" for an invalid response)."""
    data = path.read_bytes()
    start = {"Protocol": "resumable", "Command": "start", "Header-Content-Type": "application/jsonl"}
    start["Header-Content-Length"] = str(len(data))
    new = {"file": {"display_name": name}}
    url = _post(client, f"{server}/upload/v1beta/files", start, body=new).headers["X-Goog-Upload-URL"]
    if not url.startswith(f"{server}/"):  # the file and the key are not sent to another server
        return ""
    file = _post(client, url, {"Offset": "0", "Command": "upload, finalize"}, content=data).json()["file"]["name"]
    return file if _ID.fullmatch(file) else ""


def download(client: Any, server: str, file: str) -> bytes:
    """Return the content of the file with an ID, b"" for HTTP 403: Google's answer for a file that does not exist."""
    import httpx2
    import openai

    try:
        url = f"{server}/download/v1beta/{file}:download?alt=media"
        return bytes(client.get(url, cast_to=httpx2.Response).content) if _ID.fullmatch(file) else b""
    except openai.PermissionDeniedError:
        return b""


def _post(client: Any, url: str, upload: dict[str, str], **content: Any) -> Any:
    import httpx2

    headers = {f"X-Goog-Upload-{name}": value for name, value in upload.items()}
    return client.post(url, cast_to=httpx2.Response, options={"headers": headers}, **content)
