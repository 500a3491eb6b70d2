// Worker: the hash of a file, piece by piece, so that the page goes on answering.
import { Sha256 } from "./sha256.js";

const PIECE = 4 << 20;

addEventListener("message", async ({ data: file }) => {
  try {
    const hash = new Sha256();
    for (let at = 0; at < file.size; at += PIECE) {
      hash.update(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
      postMessage({ done: Math.min(1, (at + PIECE) / file.size) });
    }
    postMessage({ hash: hash.digest() });
  } catch (error) {
    postMessage({ problem: error.message });
  }
});
