// A file on its way to the server: not at all where it is there, else in parts, each sent again when it is lost.
const PART = 8 << 20;
const LONGEST_WAIT = 15000;

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

/** Send a file of a known hash; `told` hears how much of it is there, 0 to 1. */
export async function upload(file, hash, to, told) {
  if ((await asked(`${to.predictions}/${hash}`, {}, [404])).ok) return told(1);
  const begun = await json(to.uploads, { size: file.size, sha256: hash, name: file.name });
  const place = `${to.uploads}/${begun.id}`;
  let offset = begun.offset;
  while (offset < file.size) {
    told(offset / file.size);
    const headers = { "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
    // 409: a part whose answer was lost has arrived; the server says up to where.
    const answer = await asked(place, { method: "PATCH", headers, body: file.slice(offset, offset + PART) }, [409]);
    const before = offset;
    offset = Number(answer.headers.get("Upload-Offset") ?? -1);
    if (offset < 0 || (answer.status === 409 && offset === before)) throw new Error("the server lost count of the upload: send the file again");
  }
  if (!(await asked(`${to.predictions}/${hash}`, {}, [404])).ok) throw new Error("the file changed while it was sent: choose it again");
  return told(1);
}

export const json = async (address, content) =>
  (await asked(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) })).json();

/** Ask until there is an answer; what the server refuses is an error in its words. */
async function asked(address, how, expected = []) {
  for (let wait = 500; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const answer = await fetch(address, how).catch(() => null);
    if (answer?.ok || expected.includes(answer?.status)) return answer;
    const busy = answer === null || [408, 425, 429, 502, 503, 504].includes(answer.status);
    if (!busy) {
      const said = await answer.json().catch(() => ({}));
      throw new Error((said.error ?? `the server answers ${answer.status}`) + (said.hint ? ` (${said.hint})` : ""));
    }
    dispatchEvent(new CustomEvent("waiting", { detail: answer === null ? "the server cannot be reached" : "the server is busy" }));
    const told = 1000 * Number(answer?.headers.get("Retry-After") ?? 0);
    await new Promise((resolve) => setTimeout(resolve, Math.max(wait, told)));
  }
}
