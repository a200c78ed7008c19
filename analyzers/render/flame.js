/* SPDX-License-Identifier: MIT */
/* Zoom, search and keyboard of the flame graph. Everything is taken from the picture itself; names
   are only ever handled as text. */
"use strict";
(function () {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const paper = byId("paper"), head = byId("head"), details = byId("details");
  const searchBox = byId("search"), matched = byId("matched");
  const inNs = root.dataset.unit === "ns", inverted = root.dataset.inverted === "1";
  const totals = [Number(root.dataset.totalA), Number(root.dataset.totalB || 0)];
  const compares = root.dataset.totalB !== undefined;

  /* The frames, parents before their children; `end` is behind the last frame above one. */
  const frames = Array.from(document.querySelectorAll("svg.f")).map((element, index) => ({
    element, index, end: index + 1, parent: null, children: [], hit: false, shown: true,
    text: element.querySelector("text"),
    name: element.querySelector("text").textContent,
    title: element.querySelector("title").textContent.replace(/\n/g, "  "),
    depth: Number(element.dataset.d),
    x: parseFloat(element.getAttribute("x")) / 100,
    w: parseFloat(element.getAttribute("width")) / 100,
    values: [Number(element.dataset.a), Number(element.dataset.b || 0)],
  }));
  const open = [];
  for (const frame of frames) {
    open.length = frame.depth;
    frame.parent = frame.depth > 0 ? open[frame.depth - 1] : null;
    if (frame.parent) frame.parent.children.push(frame);
    open[frame.depth] = frame;
    for (const around of open) around.end = frame.index + 1;
  }
  let zoomed = frames[0], focused = frames[0];

  const probe = details.cloneNode(false);
  probe.removeAttribute("id");
  probe.textContent = "m".repeat(50);
  head.appendChild(probe);
  const letter = probe.getComputedTextLength() / 50 || 7.3;
  head.removeChild(probe);

  function shorten(text, pixels) {
    const room = Math.floor(pixels / letter);
    if (text.length <= room) return text;
    if (room < 4) return "";
    return text.slice(0, room - 2).replace(/[\ud800-\udbff]$/, "") + "..";
  }

  function number(value) {
    return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1)
      : Math.round(value).toLocaleString("en");
  }

  function amount(value) {
    if (!inNs) return value.toLocaleString("en");
    if (value < 1000) return value + " ns";
    const units = [["\u00b5s", 1e3], ["ms", 1e6], ["s", 1e9]];
    const unit = units.find((one) => value / one[1] < 999.5) || units[2];
    return number(value / unit[1]) + " " + unit[0];
  }

  function setText(element, full, pixels) {
    const text = shorten(full, pixels);
    if (element.textContent !== text) element.textContent = text;
  }

  const headTexts = ["title", "total"].map((id) => [byId(id), byId(id).textContent]);
  let detailsText = details.textContent;

  /* Puts every frame where the zoom has it; what is around the zoomed frame is shown in full
     width, what is beside it not at all. */
  function layout() {
    const width = paper.getBoundingClientRect().width;
    const around = new Set();
    for (let frame = zoomed.parent; frame; frame = frame.parent) around.add(frame);
    for (const frame of frames) {
      const inside = frame.index >= zoomed.index && frame.index < zoomed.end;
      const up = around.has(frame);
      frame.shown = inside || up;
      frame.element.style.display = frame.shown ? "" : "none";
      frame.element.classList.toggle("up", up);
      if (!frame.shown) continue;
      const x = up ? 0 : (frame.x - zoomed.x) / zoomed.w;
      const w = up ? 1 : Math.min(frame.w / zoomed.w, 1 - x);
      frame.element.setAttribute("x", x * 100 + "%");
      frame.element.setAttribute("width", Math.max(w, 0) * 100 + "%");
      setText(frame.text, frame.name, w * width - 6);
    }
    for (const [element, full] of headTexts) setText(element, full, width * 0.98);
    setText(details, detailsText, width * 0.98);
    byId("reset").disabled = zoomed === frames[0];
  }

  function show(frame) {
    detailsText = frame ? frame.title : "";
    setText(details, detailsText, paper.getBoundingClientRect().width * 0.98);
  }

  function zoom(frame) {
    zoomed = frame;
    layout();
  }

  function focusOn(frame) {
    if (!frame) return;
    focused.element.setAttribute("tabindex", "-1");
    focused = frame;
    frame.element.setAttribute("tabindex", "0");
    frame.element.focus({ preventScroll: true });
    reveal(frame);
    show(frame);
  }

  /* Scrolls so far that the frame is below the head and above the window's end. */
  function reveal(frame) {
    const box = frame.element.querySelector("rect").getBoundingClientRect();
    const top = head.getBoundingClientRect().bottom;
    if (box.top < top) window.scrollBy(0, box.top - top);
    else if (box.bottom > window.innerHeight) window.scrollBy(0, box.bottom - window.innerHeight);
  }

  /* What matches in a frame that matches is not counted once more. */
  function search(term) {
    const wanted = term.toLowerCase(), sums = [0, 0];
    let counted = 0, hits = 0;
    for (const frame of frames) {
      frame.hit = wanted !== "" && frame.depth > 0 && frame.name.toLowerCase().includes(wanted);
      frame.element.classList.toggle("hit", frame.hit);
      hits += frame.hit ? 1 : 0;
      if (!frame.hit || frame.index < counted) continue;
      counted = frame.end;
      sums[0] += frame.values[0];
      sums[1] += frame.values[1];
    }
    const share = (side) => (totals[side] ? 100 * sums[side] / totals[side] : 0).toFixed(2) + " %";
    matched.textContent = wanted === "" ? "" : hits === 0 ? "nothing matches" : compares
      ? `matched: before ${share(0)}, after ${share(1)}`
      : `matched: ${share(0)} (${amount(sums[0])})`;
    matched.title = matched.textContent;
  }

  function nextHit(step) {
    for (let i = 1; i <= frames.length; i++) {
      const frame = frames[(focused.index + step * i + frames.length * 2) % frames.length];
      if (frame.hit && frame.shown) return frame;
    }
    return null;
  }

  function sibling(frame, step) {
    if (!frame.parent || frame.depth <= zoomed.depth) return null;
    return frame.parent.children[frame.parent.children.indexOf(frame) + step];
  }

  function child(frame) {
    return frame.depth < zoomed.depth ? frames.find((one) => one.parent === frame && one.shown)
      : frame.children[0];
  }

  const keys = {
    ArrowUp: () => focusOn(inverted ? focused.parent : child(focused)),
    ArrowDown: () => focusOn(inverted ? child(focused) : focused.parent),
    ArrowLeft: () => focusOn(sibling(focused, -1)),
    ArrowRight: () => focusOn(sibling(focused, 1)),
    Home: () => focusOn(frames[0]),
    Enter: () => zoom(focused),
    " ": () => zoom(focused),
    Escape: () => { zoom(frames[0]); reveal(focused); },
    "/": () => searchBox.focus(),
    n: () => focusOn(nextHit(1)),
    N: () => focusOn(nextHit(-1)),
  };

  function frameOf(target) {
    const element = target.closest ? target.closest("svg.f") : null;
    return element ? frames.find((frame) => frame.element === element) : null;
  }

  root.addEventListener("click", (event) => {
    const frame = frameOf(event.target);
    if (frame) { zoom(frame); focusOn(frame); }
  });
  root.addEventListener("mouseover", (event) => show(frameOf(event.target)));
  root.addEventListener("focusin", (event) => {
    const frame = frameOf(event.target);
    if (frame) { focused = frame; show(frame); }
  });
  root.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "f") searchBox.focus();
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.target === searchBox) {
      if (event.key === "Enter") focusOn(nextHit(1));
      else if (event.key === "Escape") { searchBox.value = ""; search(""); focusOn(focused); }
      else return;
    } else if (event.target.id === "reset" && event.key !== "Escape") return;
    else if (Object.hasOwn(keys, event.key)) keys[event.key]();
    else return;
    event.preventDefault();
  });
  searchBox.addEventListener("input", () => search(searchBox.value));
  byId("reset").addEventListener("click", () => zoom(frames[0]));
  window.addEventListener("resize", layout);
  window.addEventListener("scroll", () =>
    head.setAttribute("transform", `translate(0,${window.scrollY})`));
  window.addEventListener("beforeprint", layout);
  layout();
  if (!inverted) window.scrollTo(0, document.documentElement.getBoundingClientRect().height);
})();
