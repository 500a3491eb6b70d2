// Web worker that computes the SHA-256 of a file in pieces, so that the page stays responsive.
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
