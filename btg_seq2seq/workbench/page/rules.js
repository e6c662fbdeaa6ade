// Rules: the form for one of them, and the list of all.

import { byId, freshId, make } from "./dom.js";

const MODES = [
  ["force", "must become"],
  ["prefer", "may become"],
  ["keep", "stays as it is"],
];
const CASES = [
  ["sensitive", "as written"],
  ["insensitive", "any case"],
  ["follow", "any case, target follows"],
];

export const targetsOf = (text) => text.split("|").map((one) => one.trim()).filter(Boolean);

function select(choices, value, label) {
  const element = make("select", { "aria-label": label });
  for (const [name, text] of choices) {
    element.append(make("option", { value: name, selected: name === value, text }));
  }
  return element;
}

export function ruleForm({ source, rule = null, hint = "", isSourceFixed = true, onSave, onCancel }) {
  // A form for a rule; with `rule`, it is that one to be changed.
  const id = freshId("rule");
  const from = make("input", {
    id: `${id}-source`, value: source, required: true, autocomplete: "off", dir: "auto", spellcheck: "false",
  });
  const to = make("input", {
    id: `${id}-target`, autocomplete: "off", dir: "auto", spellcheck: "false", placeholder: hint,
    value: rule ? rule.target.join(" | ") : "", "aria-describedby": `${id}-help`,
  });
  const chosen = rule ? rule.mode : "force";
  const modes = make("fieldset", { class: "modes" }, make("legend", { class: "visually-hidden", text: "Kind of rule" }));
  for (const [name, text] of MODES) {
    const input = make("input", { type: "radio", name: `${id}-mode`, value: name, checked: name === chosen });
    modes.append(make("label", { class: "choice" }, input, make("span", {}, make("b", { text: name }), ` ${text}`)));
  }
  const casing = select(CASES, rule ? rule.case : "sensitive", "Upper and lower case");
  const error = make("p", { class: "problem", role: "alert", hidden: true });
  const mode = () => modes.querySelector("input:checked").value;
  const targetBox = make("label", { class: "grow" }, "Translation ", to);
  const showTarget = () => { targetBox.hidden = mode() === "keep"; };
  modes.addEventListener("change", showTarget);
  const form = make(
    "form", { class: "rule-form", "aria-label": rule ? "Change the rule" : "New rule" },
    make("div", { class: "row wrap" },
      isSourceFixed ? make("p", { class: "rule-source" }, make("q", { text: source, dir: "auto" }))
        : make("label", { class: "grow" }, "Source ", from),
      modes),
    make("div", { class: "row wrap end" }, targetBox,
      make("label", {}, "Case ", casing),
      make("div", { class: "row" },
        make("button", { class: "main", text: rule ? "Save" : "Add rule" }),
        make("button", { type: "button", class: "plain", text: "Cancel", onclick: () => onCancel() }))),
    make("p", { id: `${id}-help`, class: "quiet small", text: "Several translations to choose from are separated by |" }),
    error,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const target = mode() === "keep" ? [] : targetsOf(to.value);
    const words = (isSourceFixed ? source : from.value).trim();
    if (!words || (mode() !== "keep" && !target.length)) {
      error.textContent = words ? "Write a translation, or choose keep." : "Write the words of the source.";
      error.hidden = false;
      (words ? to : from).focus();
      return;
    }
    onSave({ source: words, target, mode: mode(), case: casing.value });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onCancel();
    }
  });
  showTarget();
  form.focusFirst = () => (isSourceFixed ? to : from).focus();
  return form;
}

export class RuleList {
  // The list of rules; `onChange` gets the new list.
  constructor(onChange) {
    this.rules = [];
    this.onChange = onChange;
    this.list = byId("rules");
    this.editing = null;
  }

  show(rules) {
    this.rules = rules;
    byId("rule-count").textContent = String(rules.length);
    byId("no-rules").hidden = rules.length > 0 || this.editing === "new";
    for (const id of ["export", "export-format", "clear-rules"]) byId(id).hidden = !rules.length;
    const items = rules.map((rule, rank) => (this.editing === rank ? this.form(rule, rank) : this.item(rule, rank)));
    if (this.editing === "new") items.unshift(this.form(null, "new"));
    this.list.replaceChildren(...items);
  }

  item(rule, rank) {
    const said = rule.mode === "keep" ? `${rule.source} is kept` : `${rule.source} to ${rule.target.join(" or ")}`;
    const parts = [make("span", { class: "rule-words", dir: "auto", text: rule.source })];
    if (rule.mode !== "keep") {
      parts.push(make("span", { class: "arrow", "aria-hidden": "true", text: "→" }));
      parts.push(make("span", { class: "rule-words target", dir: "auto", text: rule.target.join(" | ") }));
    }
    const tags = [make("span", { class: `tag ${rule.mode}`, text: rule.mode })];
    if (rule.case !== "sensitive") {
      tags.push(make("span", { class: "tag", text: rule.case === "follow" ? "case follows" : "any case" }));
    }
    return make("li", {},
      make("span", { class: "rule-text" }, ...parts, ...tags),
      make("button", { type: "button", class: "plain", text: "Edit", "aria-label": `Edit the rule: ${said}`, onclick: () => this.edit(rank) }),
      make("button", { type: "button", class: "plain danger", text: "Delete", "aria-label": `Delete the rule: ${said}`, onclick: () => this.remove(rank) }));
  }

  form(rule, rank) {
    const form = ruleForm({
      source: rule ? rule.source : "", rule, isSourceFixed: false,
      onCancel: () => this.edit(null, rank),
      onSave: (saved) => {
        this.editing = null;
        if (rank === "new") this.onChange([...this.rules, saved], `Rule for ${saved.source} added`);
        else this.onChange(this.rules.map((one, own) => (own === rank ? saved : one)), "Rule changed");
      },
    });
    return make("li", { class: "editing" }, form);
  }

  edit(rank, from = null) {
    this.editing = rank;
    this.show(this.rules);
    if (rank !== null) this.list.querySelector("form").focusFirst();
    else if (from === "new") byId("new-rule").focus();
    else this.list.children[from]?.querySelector("button")?.focus();
  }

  remove(rank) {
    this.editing = null;
    const [gone] = this.rules.slice(rank, rank + 1);
    this.onChange(this.rules.filter((_, own) => own !== rank), `Rule for ${gone.source} deleted`);
    const next = this.list.children[Math.min(rank, this.rules.length - 1)];
    (next ? next.querySelector("button") : byId("new-rule")).focus();
  }
}
