/** The token by which a connection counts as a person's. `kite` reads it unless an agent runs it. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { isSystemError } from "../../protocol/errors.ts";

const form = /^[0-9a-f]{64}$/;

/**
 * Returns the token in the file; makes the file if there is none that Kite wrote. If it cannot be written, the token is
 * in memory alone, nobody is a person, and `onTrouble` says why.
 */
export function openPersonToken(path: string, onTrouble: (message: string, error: unknown) => void): string {
  const known = readPersonToken(path);
  if (known !== null) return known;
  const token = randomBytes(32).toString("hex");
  try {
    writeFileSync(`${path}.new`, `${token}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    onTrouble(`${path} cannot be written, so no command counts as a person's`, error);
  }
  return token;
}

/** Returns the token in the file; null: there is none that Kite wrote. */
export function readPersonToken(path: string): string | null {
  try {
    if (!lstatSync(path).isFile()) return null;
    const text = readFileSync(path, "utf8").trim();
    return form.test(text) ? text : null;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // Missing, or not for this user.
  }
}

/** Whether a client's text is the token. */
export function isToken(token: string, text: string): boolean {
  return form.test(text) && timingSafeEqual(Buffer.from(token), Buffer.from(text));
}
