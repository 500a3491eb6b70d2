// Creates elements. Text is always set as text, so that no label is interpreted as markup.

const SVG = "http://www.w3.org/2000/svg";

export const element = (name, attributes = {}, ...content) => filled(document.createElement(name), attributes, content);
export const drawing = (name, attributes = {}, ...content) =>
  filled(document.createElementNS(SVG, name), attributes, content);

function filled(made, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...content.filter((each) => each !== null && each !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);
export const percent = (value) => (value === null || Number.isNaN(value) ? "–" : (100 * value).toFixed(2));

/** Count with a noun: "1 ground truth", "2 ground truths". */
export const many = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A model's name with its colour; `number` is the index of the model. */
export const modelName = (name, number) =>
  element("span", { class: "model", title: name }, element("span", { class: `dot m${number % 8}` }), element("small", {}, String(number + 1)), element("bdi", {}, name));
