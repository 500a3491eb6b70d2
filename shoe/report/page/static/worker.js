// Scores one model again beside the page, so that a slider never waits. Newer settings overtake older ones.
import { unpack } from "./packed.js";
import { Rescorer } from "./rescore.js";

let rescorer;
let wanted;

async function prepared(shared, model) {
  return new Rescorer(await unpack(shared), await unpack(model));
}

async function scored(asked) {
  const ready = await rescorer;
  await new Promise((done) => setTimeout(done)); // lets newer settings in
  if (wanted === asked) postMessage({ number: asked.number, found: ready.score(asked.settings) });
}

onmessage = ({ data }) => {
  if (data.shared) rescorer = prepared(data.shared, data.model);
  else scored((wanted = data));
};
