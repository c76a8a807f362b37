/**
 * What daemons of tests leave for whoever reads why a test failed: their log and trail. A home hands its folder over
 * when it goes; at the end of the file the folders are kept in the report if a test of the file failed, else removed.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";

/** The report's folder, which the runner names; without one nothing is kept. */
const reports = process.env["KITE_TEST_REPORT"];

/** The most homes of one file of which something is kept. */
const homesMax = 100;

let pending: string | null = null;
let homes = 0;

/** Takes log and trail of a home that is about to be removed. */
export function leaveBehind(home: string): void {
  if (reports === undefined || homes >= homesMax) return;
  const left = ["daemon.log", "daemon.log.1", "trail"].map(name => join(home, name)).filter(existsSync);
  if (left.length === 0) return;
  homes += 1;
  mkdirSync(join(reports, "pending"), { recursive: true });
  pending ??= mkdtempSync(join(reports, "pending", "file-"));
  const to = join(pending, String(homes));
  mkdirSync(to);
  // Copied: the report may be on another device.
  for (const path of left) cpSync(path, join(to, basename(path)), { recursive: true });
}

/** Ends a test file: keeps what its homes left if a test failed, else removes it. */
export function endLeftBehind(file: string, hasFailed: boolean): void {
  if (reports !== undefined && pending !== null) {
    const to = join(reports, "failed", basename(file).replace(/\.ts$/, ""));
    rmSync(to, { recursive: true, force: true });
    if (hasFailed) {
      mkdirSync(join(reports, "failed"), { recursive: true });
      renameSync(pending, to);
    } else {
      rmSync(pending, { recursive: true, force: true });
    }
  }
  pending = null;
  homes = 0;
}
