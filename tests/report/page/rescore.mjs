// Scores a model by what `pack` wrote: node rescore.mjs FOLDER < {shared, models, settings}; prints figures per model.
const [, , folder] = process.argv;
const { unpack } = await import(`${folder}/packed.js`);
const { Rescorer } = await import(`${folder}/rescore.js`);
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { shared, models, settings } = JSON.parse(text);
const common = await unpack(shared);
const found = [];
for (const model of models) {
  const rescorer = new Rescorer(common, await unpack(model));
  const seconds = [];
  const figures = settings.map((each) => {
    const start = performance.now();
    const { ap, f1, ...means } = rescorer.score(each);
    seconds.push((performance.now() - start) / 1000);
    return { ...means, ap: [...ap].map((v) => (Number.isNaN(v) ? null : v)), f1: [...f1].map((v) => (Number.isNaN(v) ? null : v)) };
  });
  found.push({ figures, seconds });
}
console.log(JSON.stringify(found));
