// What a page must have for everyone: an expression, whose value is JSON of problems and the number of texts it saw.
(() => {
  const problems = [];
  let texts = 0;

  function channels(color) {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha: alpha / 255 };
  }

  const known = new Map();
  function parsed(color) {
    if (!known.has(color)) known.set(color, channels(color));
    return known.get(color);
  }

  function luminance(rgb) {
    const [red, green, blue] = rgb.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function behind(element) {
    for (let one = element; one; one = one.parentElement) {
      const { rgb, alpha } = parsed(getComputedStyle(one).backgroundColor);
      if (alpha === 1) return rgb;
      if (alpha > 0) problems.push(`background of ${path(one)} is half transparent`);
    }
    return [255, 255, 255];
  }

  function path(element) {
    return element.id ? `#${element.id}` : `${element.localName}.${element.className}`;
  }

  function isShown(element) {
    const box = element.getBoundingClientRect();
    return element.checkVisibility() && box.width > 1 && box.height > 1;
  }

  // contrast of all texts: 4.5, or 3 where they are large
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.nodeValue.trim() || !isShown(element)) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const [lower, higher] = [luminance(parsed(style.color).rgb), luminance(behind(element))].sort((a, b) => a - b);
    const ratio = (higher + 0.05) / (lower + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) problems.push(`contrast of ${path(element)} is ${ratio.toFixed(2)}`);
  }

  // names
  for (const one of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!one.labels.length && !one.getAttribute("aria-label")) problems.push(`${path(one)} has no label`);
  }
  for (const one of document.querySelectorAll("a, button, summary")) {
    if (!one.textContent.trim() && !one.getAttribute("aria-label")) problems.push(`${path(one)} has no name`);
  }
  for (const one of document.querySelectorAll("nav, section, form")) {
    if (!one.getAttribute("aria-label") && !document.getElementById(one.getAttribute("aria-labelledby"))) {
      problems.push(`${path(one)} has no name`);
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) problems.push("an id is not unique");

  // structure
  for (const name of ["header", "main", "footer"]) {
    if (document.querySelectorAll(name).length !== 1) problems.push(`there is not one ${name}`);
  }
  if (!document.documentElement.lang || !document.title) problems.push("the page has no language or no title");
  if (!document.querySelector("[aria-live]")) problems.push("nothing tells of changes");
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((one) => Number(one.localName[1]));
  levels.reduce((before, level) => {
    if (level > before + 1) problems.push(`a heading of level ${level} follows one of level ${before}`);
    return level;
  }, 0);
  if (levels.filter((level) => level === 1).length !== 1) problems.push("there is not one heading of level 1");
  for (const one of document.querySelectorAll("th")) {
    if (!["col", "row"].includes(one.scope)) problems.push(`a header of a table has no scope: ${one.textContent}`);
  }
  for (const one of document.querySelectorAll("table")) {
    if (!one.caption) problems.push("a table has no caption");
  }

  // size
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const wide = [...document.body.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > width + 1);
    problems.push(`the page is wider than the screen: ${document.documentElement.scrollWidth} of ${width}; ${wide.slice(0, 3).map(path)}`);
  }
  if (width < 500) {
    for (const one of document.querySelectorAll(".states a, button, select, input:not([type=hidden])")) {
      const { height } = one.getBoundingClientRect();
      if (isShown(one) && height < 24) problems.push(`${path(one)} is too small to be touched: ${height}`);
    }
  }
  return JSON.stringify({ problems: [...new Set(problems)], texts });
})()
