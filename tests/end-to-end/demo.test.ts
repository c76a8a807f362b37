import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("../../dist/kite.mjs", import.meta.url));

it("kite demo plays to its end, says in four lines what happened, and leaves nothing behind", async () => {
  const temporary = mkdtempSync(join(tmpdir(), "kd-"));
  const env = { PATH: process.env["PATH"] ?? "", HOME: temporary, TMPDIR: temporary };
  const child = spawn(process.execPath, [program, "demo"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", chunk => {
    said += String(chunk);
  });
  child.stderr.on("data", chunk => {
    said += String(chunk);
  });
  const code = await new Promise(resolve => child.once("close", resolve));
  expect(said).toMatch(/ben waited .* for cart\.ts and got it as soon as ada's turn ended\./);
  expect(said).toMatch(/dan waited .* for price\.ts: cleo no longer edited it, so Kite granted it to dan\./);
  expect(said).toMatch(/released .*price\.ts by cleo: yielded/);
  expect(said).toMatch(/released .*cart\.ts by ben: anchor_gone/);
  expect(said).toMatch(/Kite refused none, and no edit was overwritten/);
  expect(code).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
});
