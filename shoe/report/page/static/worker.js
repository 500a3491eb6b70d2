// Scores one model again in a worker, so that sliders stay responsive. Newer settings replace older pending ones.
import { unpack } from "./packed.js";
import { Rescorer } from "./rescore.js";

let rescorer;
let wanted;

async function prepared(shared, model) {
  return new Rescorer(await unpack(shared), await unpack(model));
}

async function scored(asked) {
  const ready = await rescorer;
  await new Promise((done) => setTimeout(done)); // receive newer settings first
  if (wanted === asked) postMessage({ number: asked.number, found: ready.score(asked.settings) });
}

onmessage = ({ data }) => {
  if (data.shared) rescorer = prepared(data.shared, data.model);
  else scored((wanted = data));
};
