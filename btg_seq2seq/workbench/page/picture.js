// Pictures from the server, as SVG elements of this page: words can be selected, and styles come
// from drawing.css. Only shapes and text are let in, whatever the server has sent.

const SVG = "http://www.w3.org/2000/svg";
const SMALLEST = 0.5; // share of the size at which a picture that fits can still be read
const SCROLLED = 0.7; // and the size of one that does not fit
const ELEMENTS = new Set(["svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title", "desc"]);
const ATTRIBUTES = new Set([
  "viewBox", "width", "height", "role", "id", "class", "d", "x", "y", "x1", "y1", "x2", "y2", "rx",
  "ry", "r", "cx", "cy", "dx", "dy", "transform", "direction", "unicode-bidi", "lang", "text-anchor",
  "textLength", "lengthAdjust", "aria-labelledby", "aria-hidden", "tabindex", "dominant-baseline",
  "points", "font-size", "font-weight", "opacity",
]);

function copied(source, suffix) {
  if (source.nodeType === Node.TEXT_NODE) return document.createTextNode(source.data);
  if (source.nodeType !== Node.ELEMENT_NODE || source.namespaceURI !== SVG) return null;
  if (!ELEMENTS.has(source.localName)) return null;
  const element = document.createElementNS(SVG, source.localName);
  for (const { name, value } of source.attributes) {
    if (!ATTRIBUTES.has(name)) continue;
    // The same sentence may be drawn twice, but an id is there once.
    if (name === "id") element.id = `${value}-${suffix}`;
    else if (name === "aria-labelledby") {
      element.setAttribute(name, value.split(/\s+/).map((id) => `${id}-${suffix}`).join(" "));
    } else element.setAttribute(name, value);
  }
  for (const child of source.childNodes) {
    const own = copied(child, suffix);
    if (own) element.append(own);
  }
  return element;
}

let drawn = 0;

export function picture(svg) {
  const bare = svg.replace(/<style>[^<]*<\/style>/g, "");
  const parsed = new DOMParser().parseFromString(bare, "image/svg+xml").documentElement;
  if (parsed.localName !== "svg") return null;
  const element = copied(parsed, ++drawn);
  // It shrinks to fit a small screen; if that would make it too small, it is scrolled instead.
  const width = Number(parsed.getAttribute("width")) || 600;
  element.style.setProperty("max-inline-size", `${width}px`);
  const missing = `(${SMALLEST * width}px - 100%) * 1000`;
  element.style.setProperty("min-inline-size", `clamp(0px, ${missing}, ${SCROLLED * width}px)`);
  return element;
}
