// The server: one function for each call; an error has a message for people.

const KEY = "btg-key";

export class ServerError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function setKey(key) {
  window.sessionStorage.setItem(KEY, key);
}

async function call(path, options = {}) {
  const headers = { ...options.headers };
  const key = window.sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server cannot be reached. Is it still running?", 0);
  }
  if (response.ok) return response;
  let message = `The server answered ${response.status}.`;
  try {
    message = (await response.json()).error || message;
  } catch { /* no JSON: the status must do */ }
  throw new ServerError(message, response.status);
}

const posted = (value, signal) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(value),
  signal,
});

export async function models() {
  return (await call("v1/models")).json();
}

export async function translate(request, signal) {
  return (await call("v1/translate", posted(request, signal))).json();
}

export async function importRules(file, format, source, target) {
  const query = new URLSearchParams({ format, source, target });
  const headers = { "Content-Type": "application/octet-stream" };
  const response = await call(`v1/rules/import?${query}`, { method: "POST", headers, body: file });
  return (await response.json()).rules;
}

export async function exportRules(rules, format, source, target) {
  return (await call("v1/rules/export", posted({ rules, format, source, target }))).blob();
}
