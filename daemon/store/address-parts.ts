/** Reads the parts of a store's address. Each returns null for a part that is none; the caller says so without repeating it. */
import { isIPv4, isIPv6 } from "node:net";
import { limits } from "../../protocol/limits.ts";
import { refuseStore, type StoreRefusal } from "./refusal.ts";

/** After the directory follow `/.s.PGSQL.` and the port. */
const socketFolderBytes = limits.socketPathBytes - "/.s.PGSQL.65535".length;

/** Returns the text that percent signs stand for. */
export function decoded(word: string): string | null {
  try {
    return decodeURIComponent(word);
  } catch {
    return null; // The caller says what is wrong with it.
  }
}

/** Returns a host in its one spelling: an absolute path as it is, a name or an address in lower case and without brackets. */
export function hostIn(word: string): string | null {
  const text = decoded(word) ?? "";
  if (text.startsWith("/")) return folderIn(text, socketFolderBytes);
  const name = text.toLowerCase();
  const inBrackets = /^\[([0-9a-f:.]+)\]$/.exec(name)?.[1];
  if (inBrackets !== undefined)
    return isIPv6(inBrackets) ? new URL(`http://[${inBrackets}]`).hostname.slice(1, -1) : null;
  if (name.length > limits.hostChars) return null;
  return isIPv4(name) || /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/.test(name) ? name : null;
}

/** Returns an absolute path without a slash at its end. */
export function folderIn(path: string, bytesMax: number): string | null {
  if (!path.startsWith("/") || hasControls(path) || Buffer.byteLength(path) > bytesMax) return null;
  return path.replace(/(?<=.)\/+$/, "");
}

/** Returns a port from 1 to 65535. */
export function portIn(digits: string): number | null {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  return port >= 1 && port <= 65_535 ? port : null;
}

/** Returns the name of a user or a database. */
export function nameIn(word: string): string | null {
  const name = word.includes("/") ? null : decoded(word);
  if (name === null || name === "" || hasControls(name)) return null;
  return Buffer.byteLength(name) <= limits.storeNameBytes ? name : null;
}

function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

/** Says what is wrong with an address. */
export function badAddress(what: string): StoreRefusal {
  return refuseStore("store_address", `the store's address ${what}`);
}

/** Says where a password goes. */
export function withPassword(): StoreRefusal {
  return refuseStore(
    "store_password",
    "the store's address has a password (a : before an @, or a parameter); take it out, so that no list of processes and " +
      "no log shows it, and put it into ~/.pgpass or, alone, into store.secret in Kite's directory (mode 0600); " +
      "write an @ that ends no user as %40",
  );
}
