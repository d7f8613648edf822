// Keeps what is shown up to date: fetches the same address while the page is visible, and changes what differs.
// Elements stay the same elements, so focus, selection, scroll position and open details survive.
"use strict";

const EVERY = 5000;
const UNITS = [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
const toggled = new Set(); // ids of details that the viewer opened or closed
let paused = false;
let loaded = Date.now();

function age(time) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 1000));
  const [size, sign] = UNITS.find(([size]) => seconds >= size) || [1, "s"];
  return Math.floor(seconds / size) + sign;
}

function showAges() {
  for (const one of document.querySelectorAll("time[datetime]")) {
    const text = age(one.dateTime);
    if (one.textContent !== text) one.textContent = text;
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.localName : node.nodeName;
}

function change(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  if (old.localName === "time" && old.dateTime === wanted.dateTime) return;
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !(name === "open" && toggled.has(old.id))) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (name === "open" && toggled.has(old.id)) continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  changeChildren(old, wanted);
}

function changeChildren(old, wanted) {
  const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const child of [...wanted.childNodes]) {
    const known = child.id ? named.get(child.id) : undefined;
    if (known && known !== at) old.insertBefore(known, at);
    else if (!known && !(at && keyOf(at) === keyOf(child))) {
      old.insertBefore(document.importNode(child, true), at);
      continue;
    }
    const same = known || at;
    at = same.nextSibling;
    change(same, child);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function isSelecting(content) {
  const selection = document.getSelection();
  return !!selection && !selection.isCollapsed && content.contains(selection.anchorNode);
}

class RefusedError extends Error {}

async function refresh(content) {
  // The page redirects nowhere, so a redirect is to the login of a proxy, which the policy lets no script follow.
  const options = { headers: { Accept: "text/html" }, cache: "no-store", redirect: "manual" };
  const response = await fetch(location.href, options);
  if (response.type === "opaqueredirect" || (response.status >= 400 && response.status < 500)) throw new RefusedError();
  const wanted = new DOMParser().parseFromString(await response.text(), "text/html");
  const next = wanted.getElementById("content");
  if (!response.ok || !next) throw new Error(String(response.status));
  const news = next.dataset.news;
  if (news && news !== content.dataset.news) document.getElementById("news").textContent = news;
  change(content, next);
  document.title = wanted.title;
  loaded = Date.now();
}

function start(content) {
  const line = document.getElementById("refreshing");
  const text = line.textContent;
  const state = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.id = "pause";
  line.replaceChildren(text, " ", state, button);
  let failure = null;

  function show() {
    const time = new Date(loaded).toLocaleTimeString();
    if (failure instanceof RefusedError) state.textContent = `Refused since ${time}; reload the page to see why.`;
    else state.textContent = failure ? `No answer since ${time}; trying again.` : `Updated at ${time}.`;
    button.textContent = paused ? "Resume updates" : "Pause updates";
  }

  async function turn() {
    if (!paused && !document.hidden && !isSelecting(content)) {
      try {
        await refresh(content);
        failure = null;
      } catch (error) {
        failure = error;
      }
      showAges();
      show();
    }
    setTimeout(turn, EVERY);
  }

  button.addEventListener("click", () => {
    paused = !paused;
    show();
  });
  content.addEventListener("click", (event) => {
    const summary = event.target.closest("summary");
    if (summary) toggled.add(summary.parentElement.id);
  });
  show();
  setTimeout(turn, EVERY);
}

document.addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  const isTyping = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

for (const choice of document.querySelectorAll(".filters select")) {
  choice.addEventListener("change", () => choice.form.requestSubmit());
}

const content = document.getElementById("content");
showAges();
if (content && content.hasAttribute("data-refresh")) start(content);
