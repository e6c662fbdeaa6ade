// Permalinks: the request as JSON in the part of the address that is never sent.

const MODES = ["force", "prefer", "keep"];
const CASES = ["sensitive", "insensitive", "follow"];

export function cleanRule(value) {
  // A rule as the server takes it; null for anything else.
  if (typeof value !== "object" || value === null || typeof value.source !== "string") return null;
  const mode = MODES.includes(value.mode) ? value.mode : "force";
  const given = Array.isArray(value.target) ? value.target : [value.target];
  const targets = given.filter((one) => typeof one === "string" && one.trim());
  if (!value.source.trim() || (mode !== "keep" && !targets.length)) return null;
  const rule = { source: value.source.trim(), target: mode === "keep" ? [] : targets, mode };
  return { ...rule, case: CASES.includes(value.case) ? value.case : "sensitive" };
}

export function toLink(state) {
  const values = { texts: state.text.split("\n"), model: state.model };
  if (state.rules.length) values.rules = state.rules;
  if (state.nbest !== 3) values.nbest = state.nbest;
  if (state.view !== "tree") values.view = state.view;
  return `#${encodeURIComponent(JSON.stringify(values))}`;
}

export function fromLink(hash) {
  // The state in an address; null if there is none, or if it makes no sense.
  let values;
  try {
    values = JSON.parse(decodeURIComponent(hash.replace(/^#/, "")));
  } catch {
    return null;
  }
  if (typeof values !== "object" || values === null || !Array.isArray(values.texts)) return null;
  const rules = Array.isArray(values.rules) ? values.rules : [];
  return {
    text: values.texts.filter((text) => typeof text === "string").join("\n"),
    model: typeof values.model === "string" ? values.model : null,
    rules: rules.map(cleanRule).filter((rule) => rule !== null),
    nbest: Number.isInteger(values.nbest) ? values.nbest : 3,
    view: values.view === "matrix" ? "matrix" : "tree",
  };
}
