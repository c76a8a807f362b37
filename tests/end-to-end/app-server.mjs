#!/usr/bin/env node
// A stand-in for Codex's app-server, as far as Kite asks it: lists the hooks of hooks.json, and notes trust in config.toml.
// STAND_IN: "old" knows no hooks/list; "deaf" never answers; "stubborn" notes nothing.
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const kind = process.env.STAND_IN ?? "";
const home = process.env.CODEX_HOME ?? join(process.env.HOME, ".codex");
const file = join(home, "hooks.json");
const config = join(home, "config.toml");

if (process.argv[2] === "--version") {
  console.log(`codex-cli ${process.env.STAND_IN_VERSION ?? "0.171.0"}`);
  process.exit(0);
}
if (process.argv[2] !== "app-server") process.exit(64);
if (process.env.STAND_IN_PID) appendFileSync(process.env.STAND_IN_PID, `${process.pid}\n`);

function hooks() {
  const notes = existsSync(config) ? readFileSync(config, "utf8") : "";
  const { hooks = {} } = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  return Object.entries(hooks).flatMap(([event, groups]) =>
    groups.flatMap((group, g) =>
      group.hooks.map((hook, i) => {
        const name = event.replace(/(?<=[a-z])[A-Z]/g, letter => `_${letter}`).toLowerCase();
        const key = `${file}:${name}:${g}:${i}`;
        const currentHash = `sha256:${createHash("sha256")
          .update(JSON.stringify([group.matcher, hook]))
          .digest("hex")}`;
        const isTrusted = notes.includes(`[hooks.state."${key}"]\ntrusted_hash = "${currentHash}"\n`);
        const trustStatus = isTrusted ? "trusted" : "untrusted";
        return { key, command: hook.command, sourcePath: file, currentHash, trustStatus, enabled: true };
      }),
    ),
  );
}

const methods = {
  initialize: () => ({ userAgent: "stand-in" }),
  ...(kind === "old" ? {} : { "hooks/list": ({ cwds }) => ({ data: [{ cwd: cwds[0], hooks: hooks() }] }) }),
  "config/batchWrite": ({ edits }) => {
    if (kind === "stubborn") return { status: "ok" };
    const [{ value }] = edits;
    const notes = Object.entries(value).map(
      ([key, { trusted_hash }]) => `\n[hooks.state."${key}"]\ntrusted_hash = "${trusted_hash}"\n`,
    );
    appendFileSync(config, `\n[hooks.state]\n${notes.join("")}`);
    return { status: "ok" };
  },
};

if (kind === "deaf") setInterval(() => undefined, 60_000);
createInterface({ input: process.stdin }).on("line", line => {
  const { id, method, params } = JSON.parse(line);
  if (kind === "deaf" || id === undefined) return;
  const work = methods[method];
  const reply = work ? { result: work(params) } : { error: { code: -32600, message: `unknown ${method}` } };
  console.log(JSON.stringify({ id, ...reply }));
});
