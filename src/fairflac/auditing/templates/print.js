/* On paper nothing can be unfolded. */
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((element) => { element.open = true; });
});
addEventListener("afterprint", () => folded.forEach((element) => { element.open = false; }));
