import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));

/** Each caption, and what stands below it. */
const scenes = [
  ["Four sessions begin a turn in one checkout: ada, ben, cleo and dan."],
  ["ada edits cart.ts.", "granted   cart.ts to ada"],
  [
    "ben wants to edit it, too. His edit waits while ada's turn lasts.",
    "queued    ben for cart.ts, queue position 1, held by ada",
  ],
  ["ada edits cart.ts once more."],
  ["ada's turn ends.", "released  cart.ts by ada: its holder went idle", "granted   cart.ts to ben"],
  ["cleo edits price.ts, and goes on with other work in the same turn.", "granted   price.ts to cleo"],
  [
    "dan wants to edit it. Kite lets him, in the middle of cleo's turn, 4 s after cleo's last edit of it.",
    "queued    dan for price.ts, queue position 1, held by cleo",
    "released  price.ts by cleo: others waited and it was not touched, so it passed on",
    "granted   price.ts to dan",
  ],
  [
    "ben edits cart.ts again, and ada waits for it.",
    "queued    ada for cart.ts, queue position 1, held by ben",
  ],
  [
    "Somebody kills ben's process in the middle of his turn.",
    "released  cart.ts by ben: its process ended",
    "granted   cart.ts to ada",
  ],
  [
    "cleo wants to put her work aside: git stash, in the checkout that all four share.",
    "denied    git stash of cleo: others have uncommitted work there",
  ],
  [
    "The others end.",
    "released  cart.ts by ada: its holder went idle",
    "released  price.ts by dan: its holder went idle",
  ],
];

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
  const at = (pattern: RegExp) => expect(said).toMatch(pattern);
  // Each caption comes before what it tells of, and all that happens then stands below it, before the next one.
  const told = said
    .slice(0, said.indexOf("What happened:"))
    .trim()
    .split("\n\n")
    .map(part => part.split("\n").map(line => line.trim().replace(/ after \d+s$/, "")));
  // The last two end at the same time.
  const last = told.pop() ?? [];
  expect([...told, [...last].sort()]).toEqual(scenes);
  at(/ben waited .* for cart\.ts and got it when ada's turn had ended\./);
  at(/dan waited .* for price\.ts and got it when cleo did not edit it any more\./);
  at(/ada waited .* for cart\.ts and got it when ben's process was gone\./);
  at(
    /Kite did not let cleo's git stash run: it would have taken the edits of ada, ben and dan out of the checkout\./,
  );
  at(/7 edits were made and 0 refused; every edit made is in its file\./);
  at(/\n {2}kite install .*\n {2}kite watch .*\n$/);
  expect(code).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
});
