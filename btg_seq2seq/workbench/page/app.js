"use strict";

const form = document.getElementById("form");
const results = document.getElementById("results");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const texts = document.getElementById("text").value.split("\n");
  const response = await fetch("/v1/translate", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ texts }),
  });
  const answer = await response.json();
  const lines = response.ok ? answer.translations.map((one) => one.text) : [answer.error];
  results.replaceChildren(
    ...lines.map((line) => {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      return paragraph;
    }),
  );
});
