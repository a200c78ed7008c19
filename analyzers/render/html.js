/* SPDX-License-Identifier: MIT */
"use strict";
(() => {
  const root = document.documentElement;
  const nav = document.querySelector("nav");
  for (const title of document.querySelectorAll("section > h2")) {
    const link = document.createElement("a");
    link.href = "#" + title.parentElement.id;
    link.textContent = title.textContent;
    nav.append(link);
  }
  /* light and dark: as the system has it until somebody says otherwise */
  const button = document.getElementById("theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const tell = () => button.setAttribute("aria-pressed", String(isDark()));
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  tell();
  /* what is under the pointer, in words: the picture's own title, without waiting for it */
  const tip = document.getElementById("tip");
  document.addEventListener("pointerover", (event) => {
    const title = event.target.closest && event.target.closest(".plot [data-tip]");
    tip.hidden = !title;
    tip.textContent = title ? title.dataset.tip : "";
  });
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
