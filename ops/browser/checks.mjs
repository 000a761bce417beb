// What every page has to pass. These functions run in the page, so each stands for itself.

export const WIDTHS = [320, 390, 1280];

/** What makes the page wider than the window. */
export function wider() {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const culprits = [...document.body.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1)
    .map((one) => `${one.tagName.toLowerCase()}.${one.className}`);
  return [`${root.scrollWidth} px wide: ${culprits.slice(0, 3).join(", ")}`];
}

/** What can be pressed or filled in and is too small or has no name. Links within a sentence are as high
 *  as its line (WCAG 2.5.8 exempts them). */
export function targets() {
  const LEAST = 44;
  const shown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
  const inSentence = (link) => {
    if (link.tagName !== "A" || getComputedStyle(link).display !== "inline") return false;
    const around = link.closest("p, li, dd, td, span");
    if (!around) return false;
    const rest = around.cloneNode(true);
    for (const other of rest.querySelectorAll("a")) other.remove();
    return rest.textContent.trim() !== "";
  };
  const faults = [];
  for (const one of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (one.type === "hidden" || one.classList.contains("skip") || !shown(one) || inSentence(one)) continue;
    const name = one.getAttribute("aria-label") ?? (one.labels?.length ? one.labels[0].textContent : one.textContent);
    const what = `${one.tagName.toLowerCase()} "${name.trim().replace(/\s+/g, " ").slice(0, 40)}"`;
    if (name.trim() === "") faults.push(`${what} has no name`);
    // A label that holds its box is pressed as a whole.
    const pressed = one.closest("label") ?? one;
    const { width, height } = pressed.getBoundingClientRect();
    if (width < LEAST || height < LEAST) faults.push(`${what} is ${width.toFixed(1)} by ${height.toFixed(1)} px`);
  }
  return faults;
}

/** Where the focus is and whether that can be seen; nothing when it is nowhere. */
export function focus() {
  const one = document.activeElement;
  if (!one || one === document.body || one === document.documentElement) return null;
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number)
      .map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(one);
  const ground = luminance(getComputedStyle(document.body).backgroundColor);
  const line = luminance(style.outlineColor);
  const contrast = (Math.max(ground, line) + 0.05) / (Math.min(ground, line) + 0.05);
  const box = one.getBoundingClientRect();
  const faults = [];
  if (style.outlineStyle === "none" || Number.parseFloat(style.outlineWidth) < 2) faults.push("has no outline");
  if (contrast < 3) faults.push(`has an outline of contrast ${contrast.toFixed(1)}`);
  if (box.width === 0 || box.bottom <= 0 || box.top >= innerHeight) faults.push("is out of sight");
  const all = [...document.querySelectorAll("*")];
  const name = (one.getAttribute("aria-label") ?? one.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40);
  return { index: all.indexOf(one), what: `${one.tagName.toLowerCase()} "${name}"`, faults };
}

/** What moves although less motion was asked for. */
export function moving() {
  const long = (text) => text.split(",").some((span) => Number.parseFloat(span) > 0.01);
  return [...document.querySelectorAll("*")]
    .filter((one) => {
      const style = getComputedStyle(one);
      return long(style.transitionDuration) || long(style.animationDuration);
    })
    .slice(0, 3)
    .map((one) => `${one.tagName.toLowerCase()} moves`);
}
