// The workbench: what there is to translate, with which rules, and what comes back.

import { exportRules, importRules, models, setKey, translate } from "./api.js";
import { announce, byId, download, make } from "./dom.js";
import { cleanRule, fromLink, toLink } from "./link.js";
import { Card } from "./results.js";
import { RuleList } from "./rules.js";

const WAIT = 500; // milliseconds after the last key before a translation begins
const FORMATS = ["tsv", "csv", "tbx", "tmx"];

const state = { text: "", model: null, rules: [], nbest: 3, view: "tree" };
let served = [];
let limits = {};
let cards = [];
let flatFound = new Map(); // flat translations do not change with rules
let running = null;
let timer = 0;

const model = () => served.find((one) => one.name === state.model) || served[0];
const lines = () => state.text.split("\n").map((line) => line.trim()).filter(Boolean);
const rules = new RuleList(changeRules);

// ---- what a user does ---------------------------------------------------------------------------

function changeRules(list, message) {
  state.rules = list;
  rules.show(list);
  announce(message);
  refresh();
}

function addRule(rule) {
  // A rule for the same words replaces the one before, since only one of two is obeyed.
  const others = state.rules.filter((one) => one.source !== rule.source || one.mode === "prefer" !== (rule.mode === "prefer"));
  changeRules([...others, rule], `Rule for ${rule.source} added`);
}

function changeText() {
  state.text = byId("text").value;
  grow();
  window.clearTimeout(timer);
  timer = window.setTimeout(refresh, WAIT);
}

function showExamples() {
  // For a model whose words nobody could guess, until there is a text.
  const place = byId("examples");
  const examples = state.text.trim() ? [] : model().examples;
  place.hidden = !examples.length;
  place.replaceChildren(make("span", { class: "quiet", text: "For example:" }), ...examples.map((text) => make("button", {
    type: "button", text, lang: model().source, onclick: () => { apply({ text }); byId("text").focus(); },
  })));
}

function grow() {
  const text = byId("text");
  text.rows = Math.min(12, Math.max(3, text.value.split("\n").length));
}

async function importFile(file) {
  const ending = file.name.split(".").pop().toLowerCase();
  const format = FORMATS.includes(ending) ? ending : "tsv";
  try {
    const { source, target } = model();
    const known = (tag) => (tag === "und" || !["tbx", "tmx"].includes(format) ? "" : tag);
    const found = await importRules(file, format, known(source), known(target));
    const fresh = found.map(cleanRule).filter(Boolean);
    const replaced = new Set(fresh.map((rule) => rule.source));
    changeRules([...state.rules.filter((rule) => !replaced.has(rule.source)), ...fresh], `${fresh.length} rules imported`);
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
}

async function exportFile() {
  const format = byId("export-format").value;
  try {
    const { source, target } = model();
    download(`rules.${format}`, await exportRules(state.rules, format, source, target), "application/octet-stream");
    announce("Rules exported");
  } catch (error) {
    showProblem(error);
  }
}

async function copyLink() {
  remember();
  try {
    await navigator.clipboard.writeText(window.location.href);
    byId("copy-link").textContent = "Copied";
    announce("Link copied");
  } catch {
    byId("copy-link").textContent = "It is in the address bar";
  }
  window.setTimeout(() => { byId("copy-link").textContent = "Copy link"; }, 2000);
}

// ---- what is shown ------------------------------------------------------------------------------

function showProblem(error) {
  const place = byId("problem");
  place.hidden = !error;
  // The server counts sentences from 0, people from 1.
  const counted = (message) => message.replace(/^sentence (\d+):/, (_, rank) => `Sentence ${Number(rank) + 1}:`);
  place.textContent = error ? counted(error.message) : "";
  if (error && error.status === 403) {
    byId("key-form").hidden = false;
    byId("key").focus();
  }
}

function showCards(texts) {
  // Cards of sentences that are still there stay as they are, with the focus in them.
  const old = [...cards];
  cards = texts.map((text, rank) => {
    const place = old.findIndex((card) => card && card.text === text);
    if (place >= 0) {
      const [card] = old.splice(place, 1);
      card.busy(true);
      return card;
    }
    return new Card(text, rank + 1, addRule, model());
  });
  const wanted = cards.map((card) => card.element);
  const current = [...byId("results").children];
  if (wanted.length !== current.length || wanted.some((one, rank) => one !== current[rank])) {
    byId("results").replaceChildren(...wanted);
  }
}

function showRemarks(problems) {
  const named = problems.map((problem) => problem.replace(/ \(rules\[\d+\]\)/g, ""));
  byId("rule-problems").replaceChildren(...named.map((text) => make("li", { text })));
}

function remember() {
  const link = state.text || state.rules.length ? toLink(state) : "";
  if (link !== window.location.hash) window.history.replaceState(null, "", link || window.location.pathname);
}

// ---- what the server does -----------------------------------------------------------------------

async function refresh() {
  window.clearTimeout(timer);
  if (running) running.abort();
  remember();
  if (!served.length) return; // start() comes back to what was typed in the meantime
  showExamples();
  const texts = lines();
  showRemarks([]);
  showCards(texts);
  if (!texts.length) {
    byId("status").textContent = "";
    return;
  }
  if (texts.length > limits.sentences) {
    showProblem(new Error(`At most ${limits.sentences} sentences at a time.`));
    return;
  }
  const own = new AbortController();
  running = own;
  byId("status").textContent = "Translating …";
  const begin = performance.now();
  try {
    const tasks = [refreshCky(texts, own.signal), refreshFlat(texts, own.signal)];
    const failed = (await Promise.allSettled(tasks)).find((one) => one.status === "rejected");
    if (running !== own) return;
    if (failed) throw failed.reason;
    showProblem(null);
    const seconds = (performance.now() - begin) / 1000;
    const count = texts.length === 1 ? "1 sentence" : `${texts.length} sentences`;
    byId("status").textContent = `${count} in ${seconds.toFixed(1)} s`;
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("status").textContent = "";
    cards.forEach((card) => card.busy(false));
    showProblem(error);
  }
}

const request = (texts) => ({ texts, model: state.model, nbest: Math.min(state.nbest, model().nbest) });

async function refreshFlat(texts, signal) {
  const key = (text) => JSON.stringify([state.model, state.nbest, text]);
  const missing = [...new Set(texts.filter((text) => !flatFound.has(key(text))))];
  if (missing.length) {
    const answer = await translate({ ...request(missing), mode: "flat" }, signal);
    if (flatFound.size > 1000) flatFound = new Map();
    missing.forEach((text, rank) => flatFound.set(key(text), answer.translations[rank]));
  }
  texts.forEach((text, rank) => {
    const found = flatFound.get(key(text));
    if (found && cards[rank].flat !== found) cards[rank].showFlat(found);
  });
}

async function refreshCky(texts, signal) {
  const asked = { ...request(texts), mode: "cky", rules: state.rules, explain: { view: state.view } };
  const answer = await translate(asked, signal);
  answer.translations.forEach((found, rank) => cards[rank].showCky(found));
  showRemarks(answer.problems);
}

// ---- start --------------------------------------------------------------------------------------

function apply(values) {
  Object.assign(state, values);
  if (!served.some((one) => one.name === state.model)) state.model = served[0].name;
  byId("text").value = state.text;
  grow();
  const most = Math.min(10, model().nbest);
  state.nbest = Math.min(Math.max(1, state.nbest), most);
  byId("nbest").replaceChildren(...Array.from({ length: most }, (_, rank) => make("option", { value: String(rank + 1), text: String(rank) })));
  byId("nbest").value = String(state.nbest);
  byId("view").value = state.view;
  byId("model").value = state.model;
  const { source, target } = model();
  byId("languages").textContent = source === "und" ? "" : `${source} → ${target}`;
  rules.show(state.rules);
  refresh();
}

async function start() {
  let answer;
  try {
    answer = await models();
  } catch (error) {
    showProblem(error);
    return;
  }
  byId("key-form").hidden = true;
  served = answer.models;
  limits = answer.limits;
  byId("model").replaceChildren(...served.map((one) => make("option", { value: one.name, text: one.name })));
  byId("model-box").hidden = served.length < 2;
  apply(fromLink(window.location.hash) || { text: byId("text").value });
}

function listen(id, event, action) {
  byId(id).addEventListener(event, action);
}

listen("text", "input", changeText);
listen("text", "keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    refresh();
  }
});
listen("text-form", "submit", (event) => { event.preventDefault(); refresh(); });
listen("nbest", "change", (event) => { state.nbest = Number(event.target.value); refresh(); });
listen("view", "change", (event) => { state.view = event.target.value; refresh(); });
listen("model", "change", (event) => { cards = []; apply({ model: event.target.value }); });
listen("new-rule", "click", () => rules.edit("new"));
listen("clear-rules", "click", () => { changeRules([], "All rules deleted"); byId("new-rule").focus(); });
listen("import", "click", () => byId("import-file").click());
listen("import-file", "change", (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  if (file) importFile(file);
});
listen("export", "click", exportFile);
listen("copy-link", "click", copyLink);
listen("key-form", "submit", (event) => { event.preventDefault(); setKey(byId("key").value); showProblem(null); start(); });
window.addEventListener("hashchange", () => {
  const values = fromLink(window.location.hash);
  if (values) apply(values);
});
start();
