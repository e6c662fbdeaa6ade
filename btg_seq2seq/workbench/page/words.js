// Words of a sentence that can be selected, with pointer, touch and keyboard.

import { make } from "./dom.js";

// As rules match: runs of letters, digits and marks; where words are not spaced, characters.
const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}";
const WORD = new RegExp(
  `[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}_\\u200c\\u200d])+|\\S\\p{M}*`, "gu",
);

export function wordsOf(text) {
  return [...text.matchAll(WORD)].map((match) => ({
    text: match[0], start: match.index, stop: match.index + match[0].length,
  }));
}

export class WordList {
  // A list box of words; `onChoose` gets the selected text and the word to return to.
  constructor(text, label, onChoose, onCancel) {
    this.text = text;
    this.words = wordsOf(text);
    this.onChoose = onChoose;
    this.onCancel = onCancel;
    this.anchor = this.focus = null;
    this.element = make("div", {
      class: "words", role: "listbox", "aria-multiselectable": "true", "aria-label": label, dir: "auto",
    });
    let end = 0;
    this.options = this.words.map((word, rank) => {
      if (word.start > end) this.element.append(" ");
      end = word.stop;
      const option = make("span", {
        class: "word", role: "option", tabindex: rank ? "-1" : "0", "aria-selected": "false", text: word.text,
      });
      this.element.append(option);
      return option;
    });
    this.element.addEventListener("pointerdown", (event) => this.press(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  get selected() {
    if (this.anchor === null) return null;
    const [first, last] = [this.anchor, this.focus].sort((a, b) => a - b);
    return { first, last, start: this.words[first].start, stop: this.words[last].stop };
  }

  get selectedText() {
    const range = this.selected;
    return range ? this.text.slice(range.start, range.stop).split(/\s+/).join(" ") : "";
  }

  select(anchor, focus) {
    this.anchor = anchor;
    this.focus = focus;
    const range = this.selected;
    this.options.forEach((option, rank) => {
      const isIn = range !== null && range.first <= rank && rank <= range.last;
      option.setAttribute("aria-selected", String(isIn));
      option.classList.toggle("joined", isIn && rank < range.last);
      option.tabIndex = rank === (focus ?? 0) ? 0 : -1;
    });
  }

  clear(returnFocus = false) {
    const rank = this.focus ?? 0;
    this.select(null, null);
    if (returnFocus && this.options[rank]) {
      this.options.forEach((option, own) => { option.tabIndex = own === rank ? 0 : -1; });
      this.options[rank].focus();
    }
  }

  press(event) {
    const rank = this.options.indexOf(event.target);
    if (rank < 0 || event.button > 0) return;
    event.preventDefault();
    const before = this.selected;
    if (before && before.first === rank && before.last === rank) {
      this.clear();
      this.onCancel();
      return;
    }
    const extends_ = before && (event.shiftKey || rank === before.first - 1 || rank === before.last + 1);
    if (extends_) this.select(rank < before.first ? before.last : before.first, rank);
    else this.select(rank, rank);
    if (event.pointerType === "mouse") this.drag();
    else this.choose();
  }

  drag() {
    const move = (event) => {
      const rank = this.options.indexOf(document.elementFromPoint(event.clientX, event.clientY));
      if (rank >= 0) this.select(this.anchor, rank);
    };
    const stop = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", stop);
      this.choose();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop);
  }

  choose() {
    if (this.selected) this.onChoose(this);
  }

  key(event) {
    const current = this.options.indexOf(document.activeElement);
    if (current < 0) return;
    const isRightToLeft = getComputedStyle(this.element).direction === "rtl";
    const forward = isRightToLeft ? "ArrowLeft" : "ArrowRight";
    const backward = isRightToLeft ? "ArrowRight" : "ArrowLeft";
    const steps = { [forward]: current + 1, [backward]: current - 1, Home: 0, End: this.options.length - 1 };
    if (event.key in steps) {
      event.preventDefault();
      const next = Math.min(Math.max(steps[event.key], 0), this.options.length - 1);
      if (event.shiftKey) this.select(this.anchor ?? current, next);
      else {
        this.select(null, null);
        this.options.forEach((option, rank) => { option.tabIndex = rank === next ? 0 : -1; });
      }
      this.options[next].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (!this.selected) this.select(current, current);
      this.choose();
    } else if (event.key === "Escape") {
      this.clear();
      this.onCancel();
    }
  }
}
