// Sorting of a table by its columns, and a filter, if there is one, that shows only rows with all words of the filter.
// A cell is sorted by its data-value, else by its text.
const table = document.getElementById("sorted");
const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: row.cells[0].textContent.toLowerCase() }));
const value = (row, column) => {
  const cell = row.cells[column], text = (cell.dataset.value ?? cell.textContent).replaceAll(",", "");
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
};

function sort(column, heading) {
  const falls = heading.getAttribute("aria-sort") !== "descending";
  const numeric = rows.some(({ row }) => value(row, column) !== null);
  const key = numeric
    ? ({ row }) => value(row, column) ?? (falls ? -Infinity : Infinity)
    : ({ row }) => row.cells[column].textContent;
  const order = [...rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  const up = numeric ? falls : !falls;
  if (up) order.reverse();
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
  table.tBodies[0].append(...order.map(({ row }) => row));
}

for (const heading of table.tHead.rows[0].cells) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);
  button.addEventListener("click", () => sort(heading.cellIndex, heading));
}

const filter = document.getElementById("filter");
if (filter) filter.hidden = false;
filter?.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  document.getElementById("filtered").textContent = `${shown} of ${rows.length} classes`;
});
