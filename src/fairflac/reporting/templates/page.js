/* Tables can be sorted; on paper everything is unfolded. Without a script the page shows its tables as they are and the
   neighbours of one image. */

function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.replaceChildren(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const order = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      headings.forEach((other) => other.setAttribute("aria-sort", other === heading ? order : "none"));
      sortRows(table.tBodies[0], column, order === "ascending" ? 1 : -1);
    });
  });
}

function sortRows(body, column, sign) {
  const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  const compare = (a, b) => a - b || String(a).localeCompare(String(b), undefined, { numeric: true });
  body.append(...[...body.rows].sort((a, b) => sign * compare(key(a), key(b))));
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll(".script-only").forEach((element) => { element.hidden = false; });
document.querySelectorAll(".explorer").forEach(makeExplorer);
/* On paper nothing can be unfolded. */
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((element) => { element.open = true; });
});
addEventListener("afterprint", () => folded.forEach((element) => { element.open = false; }));
