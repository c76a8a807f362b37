/**
 * Makes of a remote's address the name that all machines share: `host/path`. User, password, port, `.git` and the way to
 * the host (ssh, https, git) do not count. Pure. Invariant: no sentence repeats an address, since it may hold a password.
 */
import { isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import { limits } from "../../protocol/limits.ts";
import { isLoopback } from "./loopback.ts";
import { isProjectName } from "./project-name.ts";

/** The name, or half a sentence that says why the address gives none. */
export type OriginName = { readonly name: string } | { readonly why: string };

interface HostPath {
  readonly host: string;
  readonly path: string;
}

const schemes: ReadonlySet<string> = new Set([
  "ssh",
  "git+ssh",
  "ssh+git",
  "https",
  "http",
  "git",
  "ftp",
  "ftps",
]);

/** Hosts by which a service is reached over ssh on the port of https. */
const otherDoors: ReadonlyMap<string, string> = new Map([
  ["ssh.github.com", "github.com"],
  ["altssh.gitlab.com", "gitlab.com"],
  ["altssh.bitbucket.org", "bitbucket.org"],
]);

const local = { why: "leads to a folder of this machine" } as const;
const long = { why: "is too long, or has characters that no name may have" } as const;
const strange = { why: "names no host and path" } as const;

/** Returns the name for the address of a remote as git has it. */
export function originName(address: string): OriginName {
  if (address.length > limits.pathBytes) return long;
  const [, scheme, rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(address) ?? [];
  if (scheme?.toLowerCase() === "file") return local;
  if (scheme !== undefined && !schemes.has(scheme.toLowerCase())) return strange;
  const found = scheme === undefined ? inShortForm(address) : inUrl(rest);
  if ("why" in found) return found;
  const host = hostName(found.host);
  if (host === null) return strange;
  if (isLoopback(host) || host === "0.0.0.0" || host === "::") return local;
  const path = pathName(found.path);
  if (path === null) return strange;
  const name = `${host.includes(":") ? `[${host}]` : host}/${path}`.normalize("NFC");
  return isProjectName(name) ? { name } : long;
}

/** `USER@HOST:PORT/PATH` behind its scheme, with `%XX` for characters. */
function inUrl(rest: string): HostPath | { readonly why: string } {
  const slash = rest.indexOf("/");
  const authority = slash === -1 ? rest : rest.slice(0, slash);
  const host = authority.slice(authority.lastIndexOf("@") + 1).replace(/:\d*$/, "");
  try {
    return { host: decodeURIComponent(host), path: decodeURIComponent(rest.slice(authority.length)) };
  } catch {
    return strange; // A % that no two digits follow.
  }
}

/** `USER@HOST:PATH`, and `[USER@HOST:PORT]:PATH`; git takes what has no colon, or a slash before it, for a folder. */
function inShortForm(address: string): HostPath | { readonly why: string } {
  const [, before = "", path] = /^([^/:[]*\[[^\]/]*\]|[^/:]*):(.*)$/s.exec(address) ?? [];
  // `C:\work`, as programs of another system write a folder.
  if (path === undefined || /^[a-z]$/i.test(before)) return local;
  // `ext::PROGRAM`: another program fetches it.
  if (path.startsWith(":")) return strange;
  const inside = /\[(.*)\]$/s.exec(before)?.[1];
  if (inside === undefined) return { host: before.slice(before.lastIndexOf("@") + 1), path };
  const host = inside.slice(inside.lastIndexOf("@") + 1);
  return { host: isIPv6(host) ? host : host.replace(/:\d*$/, ""), path };
}

/** Returns a host in lower case, without brackets and the dot at its end; null: it is none. */
function hostName(text: string): string | null {
  const address = /^\[(.*)\]$/s.exec(text)?.[1] ?? text;
  // In its one spelling; what names a network card of one machine has none.
  if (isIPv6(address))
    return address.includes("%") ? null : new URL(`http://[${address}]`).hostname.slice(1, -1);
  const host = domainToASCII(text).replace(/\.$/, "");
  if (!/^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/.test(host)) return null;
  return otherDoors.get(host) ?? host;
}

/** Returns a path without `.git`, and without slashes at its ends or twice; null: nothing is left, or it goes upwards. */
function pathName(text: string): string | null {
  const parts = text.split("/").filter(part => part !== "" && part !== ".");
  // The home of whoever logs in: `HOST:PATH` begins there, too.
  if (parts[0] === "~") parts.shift();
  if (parts.includes("..")) return null;
  const last = parts.pop()?.replace(/\.git$/i, "") ?? "";
  if (last !== "") parts.push(last);
  return parts.length === 0 ? null : parts.join("/");
}
