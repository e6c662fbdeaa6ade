// One card per sentence: its words, both translations, alternatives, picture and posterior.

import { download, make } from "./dom.js";
import { picture } from "./picture.js";
import { ruleForm } from "./rules.js";
import { WordList } from "./words.js";

function probability(logProb) {
  if (logProb === null) return "0 %";
  const share = Math.exp(logProb);
  return share >= 0.0005 ? `${(100 * share).toFixed(share >= 0.0995 ? 0 : 1)} %` : "< 0.1 %";
}

function chance(logProb) {
  const title = logProb === null ? "log-probability: minus infinity" : `log-probability ${logProb.toFixed(3)}`;
  return make("span", { class: "chance", title, text: probability(logProb) });
}

function phrasesOf(result) {
  // The text with the phrases that a rule has given marked.
  const phrases = result.derivation ? result.derivation.phrases : [];
  if (!phrases.length) return [document.createTextNode(result.text)];
  return phrases.map((phrase) => {
    const text = result.text.slice(...offsets(result.text, phrase.target_span));
    if (!phrase.rule) return document.createTextNode(text);
    const words = text.trim();
    const mark = make("mark", { title: `a rule: ${phrase.source} → ${phrase.target}`, text: words });
    const [before, after] = text.split(words);
    return make("span", {}, before || "", mark, after || "");
  });
}

function offsets(text, span) {
  // Spans count characters, and strings of JavaScript halves of some.
  if (!/[\ud800-\udfff]/.test(text)) return span;
  const characters = [...text];
  return span.map((place) => characters.slice(0, place).join("").length);
}

function posterior(shares) {
  const list = make("ol", { class: "posterior", "aria-label": "Number of phrases in the translation" });
  shares.forEach((share, rank) => {
    if (share < 0.0005) return;
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
    bar.firstChild.style.setProperty("inline-size", `${Math.max(1, 100 * share)}%`);
    const label = rank ? `${rank + 1} phrases` : "1 phrase";
    const percent = share > 0.9995 ? "100 %" : `${(100 * share).toFixed(1)} %`;
    list.append(make("li", {}, make("span", { text: label }), bar, make("span", { class: "number", text: percent })));
  });
  return list;
}

function alternatives(result) {
  if (!result.alternatives.length) return null;
  const list = make("ol", { class: "alternatives", start: "2", "aria-label": `More ${result.mode} translations` });
  for (const one of result.alternatives) {
    const text = make("span", { class: "text", dir: "auto", text: one.text || "(nothing)" });
    list.append(make("li", {}, make("div", {}, text, chance(one.log_prob))));
  }
  return list;
}

export class Card {
  // Args: the sentence, its number, what to call when a rule is added, languages of both sides.
  constructor(text, number, onRule, languages) {
    this.text = text;
    this.onRule = onRule;
    this.languages = languages;
    this.flat = this.cky = null;
    this.words = new WordList(text, `Words of sentence ${number}; select some to add a rule`, () => this.openEditor(), () => this.closeEditor());
    this.words.element.lang = languages.source;
    this.editor = make("div", { class: "editor" });
    this.flatBox = make("div", { class: "answer", "aria-live": "off" });
    this.ckyBox = make("div", { class: "answer cky" });
    this.detail = make("div", { class: "detail" });
    this.tools = make("div", { class: "row wrap tools" });
    this.element = make("article", { class: "card", "aria-label": `Sentence ${number}`, "aria-busy": "true" },
      this.words.element, this.editor,
      make("div", { class: "answers" }, this.flatBox, this.ckyBox),
      this.detail, this.tools);
    this.fill(this.flatBox, "flat", null);
    this.fill(this.ckyBox, "cky", null);
  }

  openEditor() {
    const source = this.words.selectedText;
    const range = this.words.selected;
    const phrases = this.cky && this.cky.derivation ? this.cky.derivation.phrases : [];
    const same = phrases.find((phrase) => phrase.source === source);
    const form = ruleForm({
      source,
      hint: same ? same.target : "",
      onCancel: () => { this.closeEditor(); this.words.clear(true); },
      onSave: (rule) => {
        this.closeEditor();
        this.words.clear(true);
        this.onRule(rule);
      },
    });
    this.editor.replaceChildren(form);
    if (range) form.focusFirst();
  }

  closeEditor() {
    this.editor.replaceChildren();
  }

  busy(isBusy) {
    this.element.setAttribute("aria-busy", String(isBusy));
  }

  showFlat(result) {
    this.flat = result;
    this.fill(this.flatBox, "flat", result);
  }

  showCky(result) {
    this.cky = result;
    this.fill(this.ckyBox, "cky", result);
    this.showDetail(result);
    this.busy(false);
  }

  fill(box, mode, result) {
    const about = mode === "flat" ? "the sentence as a whole" : "by phrases, with rules";
    const head = make("h3", {}, make("span", { text: mode }), make("span", { class: "quiet", text: about }));
    if (!result) {
      box.replaceChildren(head, make("p", { class: "text waiting", text: "…" }));
      return;
    }
    head.append(chance(result.log_prob));
    const text = make("p", { class: "text", dir: "auto", lang: this.languages.target });
    text.append(...(result.text ? phrasesOf(result) : [make("span", { class: "quiet", text: "(nothing)" })]));
    const notices = [result.fallback, ...result.notices].filter(Boolean);
    box.replaceChildren(...[
      head, text,
      notices.length ? make("ul", { class: "notices" }, ...notices.map((one) => make("li", { text: one }))) : null,
      alternatives(result),
    ].filter(Boolean));
  }

  showDetail(result) {
    const drawn = result.svg ? picture(result.svg) : null;
    const parts = [];
    if (drawn) {
      const box = make("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Picture of the derivation" }, drawn);
      parts.push(make("div", { class: "panel" }, make("h3", {}, make("span", { text: "derivation" })), box));
    }
    if (result.segment_posterior.length) {
      parts.push(make("div", { class: "panel" },
        make("h3", {}, make("span", { text: "number of phrases" })), posterior(result.segment_posterior)));
    }
    this.detail.replaceChildren(...parts);
    const name = this.text.slice(0, 30).replace(/[^\p{L}\p{N}]+/gu, "-") || "sentence";
    const json = () => {
      const plain = (one) => (one ? { ...one, svg: undefined } : one);
      download(`${name}.json`, JSON.stringify({ flat: plain(this.flat), cky: plain(this.cky) }, null, 2), "application/json");
    };
    const buttons = [make("button", { type: "button", class: "plain", text: "JSON", "aria-label": "Download both translations as JSON", onclick: json })];
    if (result.svg) {
      const svg = () => download(`${name}.svg`, result.svg, "image/svg+xml");
      buttons.unshift(make("button", { type: "button", class: "plain", text: "SVG", "aria-label": "Download the picture as SVG", onclick: svg }));
    }
    this.tools.replaceChildren(make("span", { class: "quiet small", text: "Download" }), ...buttons);
  }
}
