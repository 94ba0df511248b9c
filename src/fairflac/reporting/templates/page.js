"use strict";

/* Two things that a page on paper cannot do: sort a table, and look up the neighbours of another image. Without this
   script the page shows its tables as they are and the neighbours of the first image. */

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

function makeGallery(gallery) {
  const { columns, thumbnails, neighbours } = JSON.parse(gallery.querySelector("script").textContent);
  const grid = gallery.querySelector(".queries");

  function place(image, k) {
    image.style.setProperty("--x", k % columns);
    image.style.setProperty("--y", Math.floor(k / columns));
  }

  function write(element, name, text) {
    const target = element.querySelector("." + name);
    if (target) target.textContent = text;  /* without a known attribute there is no value to write */
  }

  function showNeighbour(figure, k, query) {
    const [label, value, name, y, joint] = thumbnails[k];
    const sameClass = y === query[3], sameValue = joint === query[4];
    const image = figure.querySelector(".image");
    place(image, k);
    image.setAttribute("aria-label", name);
    image.title = name;
    figure.classList.toggle("same-class", sameClass);
    figure.classList.toggle("same-value", sameValue && figure.querySelector(".value") !== null);
    write(figure, "label", (sameClass ? "= " : "≠ ") + label);
    write(figure, "value", (sameValue ? "= " : "≠ ") + value);
  }

  function show(k) {
    const query = thumbnails[k], [label, value, name] = query;
    const chosen = gallery.querySelector(".query .image");
    place(chosen, k);
    chosen.setAttribute("aria-label", name);
    for (const part of gallery.querySelectorAll(".query figcaption, .query .about")) {
      write(part, "label", label);
      write(part, "value", value);
      write(part, "name", name);
    }
    gallery.querySelectorAll(".model").forEach((model, m) => {
      const nearest = neighbours[m][k];
      model.querySelectorAll(".thumbnail").forEach((figure, place) => showNeighbour(figure, nearest[place], query));
      const shared = [3, 4].map((field) => nearest.filter((other) => thumbnails[other][field] === query[field]).length);
      model.querySelectorAll(".count").forEach((count, which) => { count.textContent = shared[which]; });
    });
    buttons.forEach((button, other) => {
      button.setAttribute("aria-pressed", other === k);
      button.tabIndex = other === k ? 0 : -1;  /* one stop for the tab key, arrows inside */
    });
  }

  function move(event) {
    const here = buttons.indexOf(document.activeElement);
    const perLine = buttons.filter((button) => button.offsetTop === buttons[0].offsetTop).length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perLine, ArrowUp: -perLine,
      Home: -here, End: buttons.length - 1 - here };
    if (!(event.key in steps)) return;
    event.preventDefault();
    buttons[Math.min(Math.max(here + steps[event.key], 0), buttons.length - 1)].focus();
  }

  const buttons = thumbnails.map(([label, value, name], k) => {
    const button = document.createElement("button"), image = document.createElement("span");
    button.type = "button";
    button.setAttribute("aria-label", [label, value, name].filter(Boolean).join(", "));
    button.title = [label, value].filter(Boolean).join(", ");
    image.className = "image";
    place(image, k);
    button.append(image);
    button.addEventListener("click", () => show(k));
    return button;
  });
  grid.append(...buttons);
  grid.addEventListener("keydown", move);
  show(0);
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll(".gallery").forEach(makeGallery);
document.querySelectorAll(".script-only").forEach((element) => { element.hidden = false; });
/* On paper nothing can be unfolded. */
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((element) => { element.open = true; });
});
addEventListener("afterprint", () => folded.forEach((element) => { element.open = false; }));
