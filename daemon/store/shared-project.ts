/**
 * The name by which the machines that share a store know a project. It is the one in the project's `.kite/config.json`, else
 * the address of the remote `origin` as `host/path`. Any agent may write both, so a person confirms the first joining of
 * each name.
 *
 * Invariants: user, password, port, `.git` and the way to the host (ssh, https, git) do not count. No sentence repeats the
 * address of a remote, since it may hold a password. Only `sharedProject` reads files; all else is pure.
 */
import { isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";
import type { Prober } from "../facts/prober.ts";
import type { GitFacts, Repository } from "../facts/repositories.ts";
import { isLoopback } from "./address.ts";

/** `why`: a sentence for people why the project stays on this machine, and how to name it. */
export type SharedProject =
  | { readonly name: string; readonly from: "setting" | "origin" }
  | { readonly name: null; readonly why: string };

export interface ProjectReader {
  readonly outside: BudgetedFs;
  readonly git: Pick<GitFacts, "commonDirOf">;
}

/** The name, or half a sentence that says why the address gives none. */
export type OriginName = { readonly name: string } | { readonly why: string };

/** `damaged`: git would not read the text either. */
type OriginSearch =
  | { readonly is: "found"; readonly address: string }
  | { readonly is: "none" }
  | { readonly is: "damaged" };

/**
 * Returns the shared name of a project. `setting` is what its rules have as `sections.project`. Reads the configuration that
 * all worktrees of the repository have in common, and starts no program.
 */
export async function sharedProject(
  reader: ProjectReader,
  { project, gitDir }: Pick<Repository, "project" | "gitDir">,
  setting: string | null,
): Promise<SharedProject | Unreachable> {
  if (setting !== null) return { name: setting, from: "setting" };
  if (gitDir === null)
    return {
      name: null,
      why: `${project} is no repository of git; run this in a clone of one: kite store share`,
    };
  const common = await reader.git.commonDirOf(gitDir);
  if (typeof common !== "string") return common;
  const origin = await readOrigin(reader.outside, `${common}/config`);
  if ("unreachable" in origin) return origin;
  if (origin.is === "none") return unnamed(project, "its repository has no remote called origin");
  if (origin.is === "damaged") return unnamed(project, `${common}/config is damaged, or too long`);
  const found = originName(origin.address);
  if ("why" in found) return unnamed(project, `the address of its remote origin ${found.why}`);
  return { name: found.name, from: "origin" };
}

/** Whether a text may be a project's name: in the composed form of Unicode, and shown as it is. */
export function isProjectName(text: string): boolean {
  return text !== "" && text.length <= limits.sharedProjectChars && text.normalize("NFC") === plain(text);
}

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

/**
 * Returns the first `remote.origin.url` in the text of a repository's own configuration. Files that the text includes are
 * not read: they may lie anywhere. An empty value takes back those before it, as git does since 2.46.
 */
export function originIn(text: string): OriginSearch {
  try {
    const addresses: string[] = [];
    for (const { section, key, value } of new Entries(text.replaceAll("\r\n", "\n"))) {
      if (section !== "remote.origin" || key !== "url" || value === null) continue;
      if (value === "") addresses.length = 0;
      else addresses.push(value);
    }
    const [address] = addresses;
    return address === undefined ? { is: "none" } : { is: "found", address };
  } catch (error) {
    if (error instanceof Damage) return { is: "damaged" };
    throw error;
  }
}

function readOrigin(outside: BudgetedFs, path: string): Promise<OriginSearch | Unreachable> {
  const read = async (prober: Prober, at: string): Promise<OriginSearch> => {
    const text = await prober.readSmall(at, limits.gitConfigBytes);
    return text === null ? { is: "damaged" } : originIn(text);
  };
  return outside.fact(
    async budget =>
      // The file may be a link to a mount that hangs.
      (await outside.look(path, null, budget, read, { maybeElsewhere: true })) ?? { is: "none" },
  );
}

function unnamed(project: string, because: string): SharedProject {
  const file = `${project}/.kite/config.json`;
  const why = `${project} has no name that other machines know: ${because}; name it in ${file}: {"project": "NAME"}`;
  return { name: null, why };
}

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

/** Thrown and caught in this file: the text is no configuration. */
class Damage extends Error {}

/** What a quoted or escaped character stands for. */
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", '"': '"', "\\": "\\" };

interface Entry {
  /** `remote.origin` for `[remote "origin"]`; the part before the dot in lower case. */
  readonly section: string;
  /** In lower case. */
  readonly key: string;
  /** Null: the key stands alone, which means true. */
  readonly value: string | null;
}

/** Walks through the text once, by the grammar of `git help config`. */
class Entries {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.replace(/^\uFEFF/, "");
  }

  *[Symbol.iterator](): Generator<Entry> {
    let section = "";
    while (this.#at < this.#text.length) {
      if (this.#take(/\s+|[#;][^\n]*/y) !== null) continue;
      if (this.#take(/\[/y) !== null) {
        section = this.#section();
        continue;
      }
      const key = this.#need(/[A-Za-z][A-Za-z0-9-]*/y).toLowerCase();
      this.#take(/[ \t]+/y);
      const value = this.#take(/=/y) === null ? null : this.#value();
      if (value === null) this.#need(/\n|$/y);
      yield { section, key, value };
    }
  }

  #section(): string {
    const name = this.#need(/[A-Za-z0-9.-]+/y).toLowerCase();
    if (this.#take(/[ \t]+/y) === null) {
      this.#need(/\]/y);
      return name;
    }
    const quoted = this.#need(/"(?:[^"\\\n]|\\[^\n])*"/y);
    this.#need(/\]/y);
    return `${name}.${quoted.slice(1, -1).replace(/\\(.)/g, "$1")}`;
  }

  /** Reads up to the end of the line. Blanks around the value do not count, unless they stand in quotes. */
  #value(): string {
    const parts: string[] = [];
    let length = 0;
    let kept = 0;
    let isQuoted = false;
    const add = (part: string, counts: string) => {
      if (counts !== "") kept = length + counts.length;
      parts.push(part);
      length += part.length;
    };
    this.#take(/[^\S\n]+/y);
    for (;;) {
      const plain = this.#take(isQuoted ? /[^"\\\n]+/y : /[^"\\\n#;]+/y);
      if (plain !== null) {
        add(plain, isQuoted ? plain : plain.trimEnd());
      } else if (this.#take(/"/y) !== null) {
        isQuoted = !isQuoted;
      } else if (this.#take(/\\\n/y) === null) {
        const word = this.#take(/\\./y);
        if (word === null) break;
        const meant = escapes[word.slice(1)];
        if (meant === undefined) throw new Damage();
        add(meant, meant);
      }
    }
    if (isQuoted) throw new Damage();
    this.#need(/(?:[#;][^\n]*)?(?:\n|$)/y);
    return parts.join("").slice(0, kept);
  }

  #need(pattern: RegExp): string {
    const found = this.#take(pattern);
    if (found === null) throw new Damage();
    return found;
  }

  /** Returns what stands here if it fits, and goes after it. */
  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return null;
    this.#at += found.length;
    return found;
  }
}
