// Upload of a file in parts, with retries; a file that the server already has is not sent.
const PART = 8 << 20;
const LONGEST_WAIT = 15000;
const LONGEST_RETRY = 60000; // a used-up quota takes hours: it is an error, not a busy server
const MOST_LOST = 20;

export const hashOf = (file, told) => new Promise((resolve, reject) => {
  const worker = new Worker(new URL("./hash.js", import.meta.url), { type: "module" });
  worker.onerror = () => reject(new Error("the file cannot be read"));
  worker.onmessage = ({ data }) => {
    if (data.done !== undefined) return told(data.done);
    worker.terminate();
    return data.hash ? resolve(data.hash) : reject(new Error(data.problem));
  };
  worker.postMessage(file);
});

/** Upload a file with a known SHA-256; `told` is called with the uploaded fraction, 0 to 1. */
export async function upload(file, hash, to, told) {
  let state = null, lost = 0;
  while (state?.sha256 !== hash) {
    // The server continues an interrupted upload, or returns the hash if it has the complete file.
    state ??= await json(to.uploads, { size: file.size, sha256: hash, name: file.name });
    if (state.sha256) break;
    told(state.offset / file.size);
    const headers = { "Upload-Offset": String(state.offset), "Content-Type": "application/offset+octet-stream" };
    const body = file.slice(state.offset, state.offset + PART);
    // 404, 409: an earlier copy of this part has arrived, but its response was lost.
    const answer = await asked(`${to.uploads}/${state.id}`, { method: "PATCH", headers, body }, [404, 409]);
    const before = state.offset;
    state = answer.ok ? await answer.json() : null;
    lost += !state || (!state.sha256 && state.offset <= before);
    if (lost > MOST_LOST) throw new Error("the upload makes no progress: submit the file again");
  }
  if (state.sha256 !== hash) throw new Error("the file changed during the upload: select it again");
  told(1);
}

export const json = async (address, content, expected = []) =>
  (await asked(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) }, expected)).json();

/** Send a request with retries while the server is busy or cannot be reached; an error has the server's message. */
async function asked(address, how, expected = []) {
  for (let wait = 500; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const answer = await fetch(address, how).catch(() => null);
    if (answer?.ok || expected.includes(answer?.status)) return answer;
    const told = 1000 * Number(answer?.headers.get("Retry-After") ?? 0);
    const busy = answer === null || ([408, 425, 429, 502, 503, 504].includes(answer.status) && told <= LONGEST_RETRY);
    if (!busy) {
      const said = await answer.json().catch(() => ({}));
      throw new Error((said.error ?? `the server responded with HTTP status ${answer.status}`) + (said.hint ? ` (${said.hint})` : ""));
    }
    dispatchEvent(new CustomEvent("waiting", { detail: answer === null ? "the server cannot be reached" : "the server is busy" }));
    await new Promise((resolve) => setTimeout(resolve, Math.max(wait, told)));
  }
}
