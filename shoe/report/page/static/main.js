// Starts the interactive parts of the page after the summary is painted.
import { unpack } from "./packed.js";
import { byId, element } from "./dom.js";
import { ClassTable } from "./classes.js";
import { Curves } from "./curves.js";
import { Settings } from "./settings.js";
import { Examples } from "./examples.js";

const packed = (id) => byId(id) && unpack(byId(id).textContent);

async function start() {
  const page = await packed("data-page");
  if (page.classes) {
    const curves = new Curves(byId("curves"), page.classes, page.models);
    const table = new ClassTable(page.classes, page.models, (k) => curves.show(k));
    if (page.rescoring) new Settings({ ...page.rescoring, models: page.models }, (found) => table.rescored(found));
  }
  const examples = await packed("data-examples");
  if (examples) new Examples(examples, page.models);
  document.documentElement.dataset.ready = "true";
}

byId("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
    (document.documentElement.style.colorScheme === "" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.style.colorScheme = dark ? "light" : "dark";
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
}
start().catch((error) => {
  document.body.prepend(element("p", { class: "failed", role: "alert" }, `This browser cannot show the tables: ${error.message}`));
});
