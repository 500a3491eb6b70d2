// Images: the boxes of ground truth and predictions, their matches, and the credit of each word.
import { byId, drawing, element, many, modelName } from "./dom.js";

export class Examples {
  constructor({ images, labels, words, combine, weight }, models) {
    Object.assign(this, { images, labels, words, combine, weight, models, model: 0 });
    this.list = byId("image");
    this.canvas = byId("canvas");
    this.said = byId("said");
    this.why = byId("why");
    const kinds = [...new Set(images.map(({ kind }) => kind))];
    this.list.append(
      ...kinds.map((kind) => {
        const own = images.flatMap((image, i) => (image.kind === kind ? [element("option", { value: i }, image.name)] : []));
        return element("optgroup", { label: kind }, ...own);
      }),
    );
    this.tabs = models.map((name, number) =>
      element("button", { type: "button", onclick: () => this.#showModel(number) }, modelName(name, number)),
    );
    byId("example-models").append(...this.tabs);
    this.list.addEventListener("change", () => this.draw());
    byId("previous").addEventListener("click", () => this.#step(-1));
    byId("next").addEventListener("click", () => this.#step(1));
    this.#showModel(0);
  }

  #step(by) {
    const order = [...this.list.options].map(({ value }) => value);
    const at = order.indexOf(this.list.value) + by;
    this.list.value = order[(at + order.length) % order.length];
    this.draw();
  }

  #showModel(number) {
    this.model = number;
    this.tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", i === number));
    this.draw();
  }

  draw() {
    const image = this.images[this.list.value];
    const predictions = image.models[this.model];
    const [width, height] = image.size;
    const scale = Math.max(width, height) / 480; // lines and letters have the same width on every image
    const truths = image.truths.map(({ boxes }, i) => this.#boxes(boxes, "truth", `truth-${i}`, scale));
    const colour = (truth) => `m${this.model % 8}${truth < 0 ? " unmatched" : ""}`;
    const shown = predictions.map(({ boxes, truth }, i) => this.#boxes(boxes, colour(truth), `prediction-${i}`, scale));
    const label = `${image.name}: ${many(image.truths.length, "ground truth")}, ${many(predictions.length, "prediction")}`;
    const picture = image.picture && drawing("image", { href: image.picture, width, height, preserveAspectRatio: "none" });
    this.canvas.replaceChildren(
      drawing(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
        drawing("rect", { class: "paper", width, height }),
        picture,
        ...truths,
        ...shown,
      ),
    );
    byId("image-facts").textContent = `${image.kind} · ${width} × ${height}${image.picture ? "" : " · no picture given"}`;
    this.said.replaceChildren(
      ...image.truths.map((truth, i) => this.#truth(truth, i, predictions)),
      ...predictions.flatMap((said, i) => (said.truth < 0 ? [this.#unmatched(said, i)] : [])),
    );
    this.#highlight([]);
    this.why.replaceChildren(element("p", { class: "quiet" }, "Point at a line, or move to it with Tab, to see its boxes and why it gets its credit."));
    // On an empty frame many boxes at once say nothing, so that only those of one line are shown.
    this.canvas.classList.toggle("alone", !image.picture);
    if (!image.picture) this.said.querySelector("button")?.dispatchEvent(new Event("mouseenter"));
  }

  #boxes([human, object], colour, id, scale) {
    const box = ([x1, y1, x2, y2], kind) =>
      drawing("rect", { class: kind, x: x1, y: y1, width: Math.max(x2 - x1, 1), height: Math.max(y2 - y1, 1), "stroke-width": 2 * scale, "stroke-dasharray": kind === "object" ? `${6 * scale} ${4 * scale}` : null });
    const middle = ([x1, y1, x2, y2]) => [(x1 + x2) / 2, (y1 + y2) / 2];
    const [[x1, y1], [x2, y2]] = [middle(human), middle(object)];
    const line = drawing("line", { x1, y1, x2, y2, "stroke-width": 1.5 * scale });
    return drawing("g", { class: `triplet ${colour}`, "data-id": id }, line, box(human, "human"), box(object, "object"));
  }

  #truth(truth, i, predictions) {
    const at = predictions.findIndex((said) => said.truth === i);
    const label = element("bdi", { class: "class" }, this.labels[truth.class]);
    if (at < 0) return this.#line([`truth-${i}`], null, label, element("span", { class: "quiet" }, "missed"));
    const said = predictions[at];
    return this.#line([`truth-${i}`, `prediction-${at}`], said, label, ...this.#words(said), this.#sigma(said.sigma));
  }

  #unmatched(said, i) {
    const counts =
      said.class === undefined
        ? element("span", { class: "quiet" }, "no match, not counted")
        : element("span", { class: "quiet" }, "false positive of ", element("bdi", {}, this.labels[said.class]));
    return this.#line([`prediction-${i}`], said, ...this.#words(said), counts);
  }

  #words({ verb, object, score }) {
    return [element("bdi", { class: `said m${this.model % 8}` }, `${verb} ${object}`), element("span", { class: "quiet" }, score.toFixed(2))];
  }

  #sigma(sigma) {
    return element("span", { class: "sigma" }, `σ ${sigma.toFixed(2)}`);
  }

  #line(ids, said, ...content) {
    const point = () => {
      this.#highlight(ids);
      this.#explain(said);
    };
    const button = element("button", { type: "button", onmouseenter: point, onfocus: point, onclick: point }, ...content);
    return element("li", {}, button);
  }

  #highlight(ids) {
    for (const group of this.canvas.querySelectorAll(".triplet")) {
      group.classList.toggle("faded", ids.length > 0 && !ids.includes(group.dataset.id));
      group.classList.toggle("pointed", ids.includes(group.dataset.id));
    }
  }

  #explain(said) {
    if (!said || !said.why) {
      const text = said ? "Its similarity to every class is below delta." : "No prediction is matched with this ground truth.";
      this.why.replaceChildren(element("p", { class: "quiet" }, text));
      return;
    }
    const [verb, object] = said.why.map((number) => this.words[number]);
    const { combine, weight } = this;
    const rule = combine === "arithmetic" ? `${weight} × ${verb.value} + ${+(1 - weight).toFixed(4)} × ${object.value}` : `${combine} of ${verb.value} and ${object.value}`;
    this.why.replaceChildren(
      this.#part("verb", verb),
      this.#part("object", object),
      element("p", { class: "sum" }, `σ = ${rule} = ${said.sigma}`),
    );
  }

  #part(part, { label, sense, word, found, reason, value, basis, ratings }) {
    const given = Object.entries(ratings);
    const how = [reason, given.length ? `rated ${given.map(([rater, rating]) => `${rater} ${rating}`).join(", ")} of 4` : basis];
    return element(
      "dl",
      {},
      element("dt", {}, part, element("meter", { min: 0, max: 1, value, title: String(value) }), element("b", {}, value.toFixed(2))),
      element("dd", {}, "said ", element("bdi", { class: "word" }, word), " ", element("code", {}, found || "no sense")),
      element("dd", {}, "class ", element("bdi", { class: "word" }, label), " ", element("code", {}, sense || "no sense")),
      element("dd", { class: "quiet" }, how.filter(Boolean).join("; ")),
    );
  }
}
