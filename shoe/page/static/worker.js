// Scores all models again beside the page, so that a slider never waits. Newer settings overtake older ones.
import { unpack } from "./packed.js";
import { Rescorer } from "./rescore.js";

let rescorers;
let wanted = 0;

async function scoreAll({ number, settings }) {
  wanted = number;
  for (const [model, rescorer] of (await rescorers).entries()) {
    await new Promise((done) => setTimeout(done)); // lets newer settings in
    if (wanted !== number) return;
    postMessage({ number, model, found: rescorer.score(settings) });
  }
}

async function prepared({ shared, models }) {
  const common = await unpack(shared);
  return Promise.all(models.map(async (model) => new Rescorer(common, await unpack(model))));
}

onmessage = ({ data }) => {
  if (data.shared) rescorers = prepared(data);
  else scoreAll(data);
};
