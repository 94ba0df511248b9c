"use strict";

/* Sorting, filtering and following what trains. Without this script the list is complete, in the order of time. */

const SECONDS = 2;
const table = document.getElementById("runs");
const filter = document.getElementById("filter"), state = document.getElementById("state");
let sorted = null;  /* which column, and 1 or -1; null: as the server has it */

function makeSortable() {
  for (const heading of table.tHead.querySelectorAll("[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.replaceChildren(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const falls = heading.getAttribute("aria-sort") === "ascending";
      sorted = [heading.cellIndex, falls ? -1 : 1];
      for (const other of table.tHead.querySelectorAll("[data-sort]")) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
      arrange();
    });
  }
}

/* Rows in the order that was asked for, and only those that match. */
function arrange() {
  const rows = [...table.tBodies[0].rows];
  if (sorted) {
    const [column, sign] = sorted;
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const compare = (a, b) => a - b || String(a).localeCompare(String(b), undefined, { numeric: true });
    const order = rows.toSorted((a, b) => sign * compare(key(a), key(b)));
    if (order.some((row, place) => row !== rows[place])) table.tBodies[0].append(...order);
  }
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase(), kind = state.value;
    const fits = !kind || row.dataset.state === kind || (row.dataset.role.startsWith(kind) && kind === "bias model");
    row.hidden = !(fits && words.every((word) => text.includes(word)));
    shown += !row.hidden;
  }
  write(document.getElementById("count"), shown === rows.length ? "" : `${shown} of ${rows.length} runs`);
  choose();
}

/* A run that is chosen stays so while a filter hides it, and is counted. */
function choose() {
  const chosen = table.querySelectorAll("input:checked").length, most = +table.dataset.most;
  document.getElementById("compare").disabled = chosen < 2 || chosen > most;
  const says = chosen ? `${chosen} chosen` : `Choose two finished runs or more, ${most} at most.`;
  write(document.getElementById("chosen"), says);
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;  /* a screen reader speaks at every change */
}

/* On a phone a cell says itself what its column is. */
function label(row) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    if (heading.matches(".number")) row.cells[column].dataset.label = heading.textContent.trim();
  });
}

/* Only what differs is replaced, so that focus, choice and what was unfolded stay. */
function update(fresh) {
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const here = document.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!here) document.querySelector("main").append(part);
    else if (here.innerHTML !== part.innerHTML) here.innerHTML = part.innerHTML;
  }
  if (!table) return;
  const theirs = fresh.querySelector("#runs");
  if (theirs.tHead.textContent.trim() !== headings) return location.reload();  /* a number that no run had before */
  write(table.caption, theirs.caption.textContent);
  const mine = new Map([...table.tBodies[0].rows].map((row) => [row.dataset.run, row]));
  for (const row of [...theirs.tBodies[0].rows]) {
    const old = mine.get(row.dataset.run);
    mine.delete(row.dataset.run);
    label(row);
    if (!old) table.tBodies[0].prepend(row);
    else if (row.dataset.state !== old.dataset.state) old.replaceWith(row);
    else [...row.cells].forEach((cell, place) => {
      const before = old.cells[place];
      if (before.textContent !== cell.textContent) before.replaceWith(cell);
    });
  }
  for (const gone of mine.values()) gone.remove();
  arrange();
}

/* An answer that takes long, of a folder with thousands of runs, is asked for less often: training needs the machine. */
async function follow(address) {
  const began = performance.now();
  if (!document.hidden) {
    try {
      const answer = await fetch(address);
      if (answer.ok) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
      document.body.classList.toggle("gone", !answer.ok);
    } catch {
      document.body.classList.add("gone");  /* the server has stopped; it may come back */
    }
  }
  setTimeout(follow, Math.max(1000 * SECONDS, 10 * (performance.now() - began)), address);
}

const headings = table ? table.tHead.textContent.trim() : "";
if (table) {
  makeSortable();
  [...table.tBodies[0].rows].forEach(label);
  filter.addEventListener("input", arrange);
  state.addEventListener("change", arrange);
  table.addEventListener("change", choose);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && document.activeElement !== filter) {
      event.preventDefault();
      filter.focus();
    }
  });
  arrange();
}
document.querySelectorAll(".script-only").forEach((element) => { element.hidden = false; });
const followed = document.querySelector("[data-follow]");
if (followed) setTimeout(follow, 1000 * SECONDS, followed.dataset.follow);
