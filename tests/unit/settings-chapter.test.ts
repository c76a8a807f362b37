/** The chapter of settings has a row for each, made of the settings themselves: `UPDATE=1` writes it. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { settings } from "../../daemon/config/config.ts";

const path = fileURLToPath(new URL("../../bin/man/settings.md", import.meta.url));

/** Texts of defaults that are no number and no word. */
const defaults: Readonly<Record<string, string>> = {
  clientLockWaitMs: "",
  gates: "off",
  health: "tell",
  ignore: "",
  notify: "",
  spawn: "",
  store: "",
};

it("has a row for each setting", () => {
  const rows = Object.entries(settings).map(
    ([name, { variable, initial, says }]) =>
      `| \`${name}\` | ${variable === null ? "" : `\`${variable}\``} | ${defaults[name] ?? String(initial)} | ${says} |`,
  );
  const made = ["| Key | Variable | Default | |", "| --- | --- | --- | --- |", ...rows].join("\n");
  const text = readFileSync(path, "utf8");
  const now = text.replace(/^\| Key .*(?:\n\|.*)*/m, () => made);
  if (process.env["UPDATE"] === "1") writeFileSync(path, now);
  expect(text).toBe(now);
});
