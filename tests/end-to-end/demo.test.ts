import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));

it("kite demo plays to its end, says what happened, and leaves nothing behind", async () => {
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
  const at = (pattern: RegExp) => {
    expect(said).toMatch(pattern);
    return said.search(pattern);
  };
  // A caption comes before what it announces.
  expect(at(/^ada's turn ends\.$/m)).toBeLessThan(at(/released +cart\.ts by ada/));
  expect(at(/^Somebody kills ben's process/m)).toBeLessThan(at(/released +cart\.ts by ben/));
  at(/ben waited .* for cart\.ts and got it when ada's turn had ended\./);
  at(/dan waited .* for price\.ts and got it when cleo did not edit it any more\./);
  at(/ada waited .* for cart\.ts and got it when ben's process was gone\./);
  at(/7 edits were made and 0 refused; every edit made is in its file\./);
  at(/\n {2}kite install .*\n {2}kite watch .*\n$/);
  expect(code).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
});
