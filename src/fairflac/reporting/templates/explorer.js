"use strict";

/* The test images on a map for each model: press a point, filter, and see what every model says of the chosen image and
   which images it takes for alike. */

const NOWHERE = 65535;  /* the image was not kept */
const SHAPES = 5;
const REACH = 18;  /* pixels from a point that still press it */
const BUTTONS = 60;  /* images to choose from, beside the maps: of all kinds that are shown */

function unpack(text, Kind = Uint16Array) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}

function trace(pen, shape, x, y, r) {
  if (shape === 0) { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 2 * Math.PI); return; }
  if (shape === 1) { pen.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r); return; }
  const up = shape === 3 ? 1 : -1;
  const corners = shape === 2 ? [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]
    : shape === 4 ? [[-1.2, -0.4], [1.2, -0.4], [1.2, 0.4], [-1.2, 0.4]]
    : [[0, 1.2 * -up], [1.2, 0.9 * up], [-1.2, 0.9 * up]];
  corners.forEach(([dx, dy], k) => (k ? pen.lineTo(x + r * dx, y + r * dy) : pen.moveTo(x + r * dx, y + r * dy)));
  pen.closePath();
}

function makeExplorer(explorer) {
  const data = JSON.parse(explorer.querySelector("script").textContent);
  const y = unpack(data.y), group = unpack(data.group), against = unpack(data.against, Uint8Array);
  const placeOf = unpack(data.place), tiny = unpack(data.tiny), point = unpack(data.point);
  const models = data.models.map((model) => ({ ...model, x: unpack(model.x), y: unpack(model.y),
    said: unpack(model.said), sure: unpack(model.sure, Uint8Array), near: unpack(model.near) }));
  const all = [...y.keys()];
  const spread = (k) => (k * 0.618034) % 1;  // the golden ratio: neighbours in the list come far apart
  const mixed = [...all].sort((a, b) => spread(a) - spread(b));  // drawn so, no class covers all others
  const maps = [...explorer.querySelectorAll("canvas")];
  const choices = Object.fromEntries([...explorer.querySelectorAll("select")].map((one) => [one.dataset.filter, one]));
  const grid = explorer.querySelector(".queries"), zoom = explorer.querySelector(".zoom");
  const hovered = document.createElement("span");
  hovered.className = "image hovered";
  hovered.hidden = true;
  hovered.setAttribute("aria-hidden", "true");
  explorer.querySelector(".maps").append(hovered);
  let chosen = data.start, shown = all, visible = new Uint8Array(all.length).fill(1), buttons = [];

  const right = (m, k) => models[m].said[k] === y[k];
  const pictured = (k) => placeOf[k] !== NOWHERE || tiny[k] !== NOWHERE;
  const describe = (k) => [data.classes[y[k]], data.groups[group[k]], data.names[placeOf[k]]].filter(Boolean).join(", ");

  /* Which images are shown. */

  function passes(k) {
    const kind = choices.class.value, value = choices.group ? choices.group.value : "";
    const [answer, which] = choices.answer.value.split("-");
    if (kind !== "" && y[k] !== Number(kind)) return false;
    if (value === "with" || value === "against") {
      if (Boolean(against[k]) !== (value === "against")) return false;
    } else if (value !== "" && group[k] !== Number(value)) return false;
    if (answer === "wrong") return !right(which, k);
    if (answer === "mended") return !right(0, k) && right(which, k);
    if (answer === "lost") return right(0, k) && !right(which, k);
    return true;
  }

  function filter() {
    shown = all.filter(passes);
    visible = new Uint8Array(all.length);
    shown.forEach((k) => { visible[k] = 1; });
    fillButtons();
    const some = buttons.length < shown.length && buttons.length ? `, ${buttons.length} of them below` : "";
    const images = shown.length === 1 ? "image" : "images";
    explorer.querySelector(".found").textContent = `${shown.length.toLocaleString("en")} ${images}${some}`;
    if (shown.length && !visible[chosen]) show(shown[0]);
    else drawAll();
  }

  /* The maps. */

  function colouring() {
    const kind = choices.colour.value;
    if (kind === "right") return { names: ["right", "wrong"], of: (k, m) => (right(m, k) ? 0 : 1), colours: ["--value", "--class"] };
    if (kind === "group") return { names: data.groups, of: (k) => group[k], colours: data.colours };
    return { names: data.classes, of: (k) => y[k], colours: [] };
  }

  function colourOf(found, value, style) {
    const own = found.colours[value];
    if (own && own.startsWith("#")) return own;
    return style.getPropertyValue(own || (value < 10 ? `--v${value}` : "--other"));
  }

  function view(map, m) {
    /* From the numbers of a map to its pixels: all of it, or a quarter of its width around the chosen image. */
    const { clientWidth: width, clientHeight: height } = map, edge = 14;
    const close = zoom.getAttribute("aria-pressed") === "true";
    const scale = close ? 4 : 1, centre = close ? [models[m].x[chosen], models[m].y[chosen]] : [32767, 32767];
    const across = (value, middle, size) => size / 2 + ((value - middle) / 65535) * scale * (size - 2 * edge);
    return (k) => [across(models[m].x[k], centre[0], width), across(models[m].y[k], centre[1], height)];
  }

  function draw(map, m) {
    const ratio = devicePixelRatio || 1, pen = map.getContext("2d"), style = getComputedStyle(explorer);
    map.width = map.clientWidth * ratio;
    map.height = map.clientHeight * ratio;
    pen.scale(ratio, ratio);
    const place = view(map, m), found = colouring(), size = all.length > 3000 ? 2.2 : 3.4;
    pen.fillStyle = style.getPropertyValue("--line");
    for (const k of all) {
      if (visible[k]) continue;
      const [x, high] = place(k);
      pen.fillRect(x - 1, high - 1, 2, 2);
    }
    const colours = found.names.map((_, value) => colourOf(found, value, style));
    pen.lineWidth = 0.25;
    pen.strokeStyle = style.getPropertyValue("--ink");
    for (const k of mixed) {
      if (!visible[k]) continue;
      const known = found.of(k, m), value = known in colours ? known : 0;
      pen.beginPath();
      trace(pen, value % SHAPES, ...place(k), size);
      pen.fillStyle = colours[value];
      pen.fill();
      if (all.length <= 3000) pen.stroke();
    }
    const [x, high] = place(chosen);
    pen.lineWidth = 2.5;
    for (const [radius, colour] of [[9, "--card"], [11, "--ink"]]) {
      pen.strokeStyle = style.getPropertyValue(colour);
      pen.beginPath();
      pen.arc(x, high, radius, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  function drawAll() {
    maps.forEach(draw);
    const found = colouring(), style = getComputedStyle(explorer);
    explorer.querySelector(".legend").replaceChildren(...found.names.slice(0, 11).map((name, value) => {
      const item = document.createElement("li"), dot = document.createElement("canvas");
      dot.width = dot.height = 24;
      dot.setAttribute("aria-hidden", "true");
      const pen = dot.getContext("2d");
      pen.beginPath();
      trace(pen, value % SHAPES, 12, 12, 8);
      pen.fillStyle = colourOf(found, value, style);
      pen.strokeStyle = style.getPropertyValue("--ink");
      pen.fill();
      pen.stroke();
      item.append(dot, value === 10 ? `${found.names.length - 10} others` : name);
      return item;
    }));
  }

  function nearestTo(map, m, x, high) {
    const place = view(map, m);
    let best = -1, least = REACH * REACH;
    for (const k of shown) {
      const [px, py] = place(k), far = (px - x) ** 2 + (py - high) ** 2;
      if (far < least) [best, least] = [k, far];
    }
    return best;
  }

  function towards(map, m, key) {
    /* The nearest shown image on that side; steps aside count double. */
    const place = view(map, m), [x, high] = place(chosen), along = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best = -1, least = Infinity;
    for (const k of shown) {
      const [px, py] = place(k), [dx, dy] = [px - x, py - high];
      const ahead = sign * (along ? dx : dy), aside = Math.abs(along ? dy : dx), far = ahead + 2 * aside;
      if (k !== chosen && ahead > 0 && aside <= 2 * ahead && far < least) [best, least] = [k, far];
    }
    return best;
  }

  function preview(map, m, event) {
    /* The image below the mouse, before it is chosen. */
    const found = event.pointerType === "mouse" ? nearestTo(map, m, event.offsetX, event.offsetY) : -1;
    hovered.hidden = found < 0 || !pictured(found);
    if (hovered.hidden) return;
    put(hovered, found);
    const left = map.offsetLeft + event.offsetX, far = explorer.querySelector(".maps").clientWidth - 70;
    hovered.style.left = `${Math.min(left + 14, far)}px`;
    hovered.style.top = `${map.offsetTop + event.offsetY + 14}px`;
  }

  /* The chosen image. */

  function put(image, k) {
    const kept = placeOf[k] !== NOWHERE, cell = kept ? placeOf[k] : tiny[k];
    const columns = kept ? data.columns : data.tinyColumns;
    image.classList.toggle("tiny", !kept);
    image.hidden = cell === NOWHERE;
    image.style.setProperty("--x", cell % columns);
    image.style.setProperty("--y", Math.floor(cell / columns));
    image.setAttribute("aria-label", describe(k));
    image.title = describe(k);
  }

  function write(element, name, text) {
    const target = element.querySelector("." + name);
    if (target) target.textContent = text;
  }

  function answerOf(m, k) {
    const line = document.createElement("span"), mark = document.createElement("span"), sure = document.createElement("small");
    const good = right(m, k);
    line.className = good ? "right" : "wrong";
    mark.className = "mark";
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", good ? "right" : "wrong");
    mark.textContent = good ? "✓" : "✗";
    sure.textContent = `${models[m].sure[k]} % sure`;
    line.append(mark, ` ${models[m].name} “${data.classes[models[m].said[k]]}” `, sure);
    return line;
  }

  function showNeighbour(figure, k) {
    const sameClass = y[k] === y[chosen], sameValue = group[k] === group[chosen];
    put(figure.querySelector(".image"), k);
    figure.classList.toggle("same-class", sameClass);
    figure.classList.toggle("same-value", sameValue && figure.querySelector(".value") !== null);
    write(figure, "label", (sameClass ? "= " : "≠ ") + data.classes[y[k]]);
    write(figure, "value", (sameValue ? "= " : "≠ ") + data.groups[group[k]]);
  }

  function show(k) {
    chosen = k;
    const image = explorer.querySelector(".query .image"), about = explorer.querySelector(".about");
    if (image) put(image, k);
    write(about, "label", data.classes[y[k]]);
    write(about, "value", data.groups[group[k]]);
    write(about, "name", data.names[placeOf[k]] || "(only a tiny copy of this image was kept)");
    about.querySelector(".answers-of").replaceChildren(...models.map((_, m) => answerOf(m, k)));
    explorer.querySelectorAll(".model").forEach((model, m) => {
      const { near, count } = models[m], others = [...near.slice(k * count, (k + 1) * count)].map((place) => point[place]);
      model.querySelectorAll(".thumbnail").forEach((figure, which) => showNeighbour(figure, others[which]));
      const shared = [y, group].map((of) => others.filter((other) => of[other] === of[k]).length);
      model.querySelectorAll(".count").forEach((count, which) => { count.textContent = shared[which]; });
    });
    pressButton();
    drawAll();
  }

  /* The images in a row: for the keyboard, for those who cannot see the maps, and for a look at all of a kind. */

  function fillButtons() {
    const some = shown.filter(pictured), step = Math.max(some.length / BUTTONS, 1);
    buttons = some.filter((_, place) => Math.floor(place / step) !== Math.floor((place - 1) / step)).map((k) => {
      const button = document.createElement("button"), image = document.createElement("span");
      button.type = "button";
      button.dataset.point = k;
      image.className = "image";
      button.append(image);
      put(image, k);
      image.removeAttribute("role");
      button.setAttribute("aria-label", describe(k));
      button.addEventListener("click", () => show(k));
      return button;
    });
    grid.replaceChildren(...buttons);
    grid.hidden = !buttons.length;
    pressButton();
  }

  function pressButton() {
    const here = buttons.findIndex((button) => Number(button.dataset.point) === chosen);
    buttons.forEach((button, which) => {
      button.setAttribute("aria-pressed", which === here);
      button.tabIndex = which === Math.max(here, 0) ? 0 : -1;  /* one stop for the tab key, arrows inside */
    });
  }

  grid.addEventListener("keydown", (event) => {
    const here = buttons.indexOf(document.activeElement);
    const perLine = buttons.filter((button) => button.offsetTop === buttons[0].offsetTop).length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perLine, ArrowUp: -perLine,
      Home: -here, End: buttons.length - 1 - here };
    if (!(event.key in steps)) return;
    event.preventDefault();
    buttons[Math.min(Math.max(here + steps[event.key], 0), buttons.length - 1)].focus();
  });
  maps.forEach((map, m) => {
    map.addEventListener("click", (event) => {
      const found = nearestTo(map, m, event.offsetX, event.offsetY);
      if (found >= 0) show(found);
    });
    map.addEventListener("pointermove", (event) => preview(map, m, event));
    map.addEventListener("pointerleave", () => { hovered.hidden = true; });
    map.addEventListener("keydown", (event) => {
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      const found = towards(map, m, event.key);
      if (found >= 0) show(found);
    });
  });
  Object.values(choices).forEach((choice) => choice.addEventListener("change", filter));
  zoom.addEventListener("click", () => {
    zoom.setAttribute("aria-pressed", zoom.getAttribute("aria-pressed") !== "true");
    drawAll();
  });
  new ResizeObserver(() => maps.forEach(draw)).observe(explorer.querySelector(".maps"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => { explorer.classList.add("paper"); drawAll(); });
  addEventListener("afterprint", () => { explorer.classList.remove("paper"); drawAll(); });
  filter();
  show(chosen);
}
