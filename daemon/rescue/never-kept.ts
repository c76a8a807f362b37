/** Which files and contents are never kept: what is secret by its name or by what stands in it. Pure. */
import { basename, dirname } from "node:path/posix";
import { anyGlob } from "../config/glob.ts";

/** Names of files that hold secrets; case does not count. */
const secretNames: readonly string[] = [
  ".env*",
  "*.pem",
  "*.key",
  "id_*",
  ".netrc",
  ".npmrc",
  ".pgpass",
  "*credential*",
  "*secret*",
  "*.tfstate",
  "*.tfstate.*",
  "*.tfvars",
];

/** Folders that hold secrets, whatever their files are called. */
const secretFolders: ReadonlySet<string> = new Set([".ssh", ".aws", ".gnupg", ".kube", ".docker"]);

/** What installs itself: nobody's work. */
const others: ReadonlySet<string> = new Set([".git", "node_modules"]);

const isSecretName = anyGlob(secretNames);

/**
 * Returns why a file is not kept by its path, or null. `path` is absolute and real, `file` its path from the top of the
 * worktree, `isNever` the person's own list.
 */
export function unkeptByName(
  path: string,
  file: string,
  isNever: (file: string) => boolean = () => false,
): string | null {
  const folders = dirname(path).split("/");
  const folder = folders.find(name => secretFolders.has(name.toLowerCase()));
  if (folder !== undefined) return `it lies below ${folder}, where secrets are`;
  const other = folders.find(name => others.has(name));
  if (other !== undefined) return `it lies below ${other}`;
  if (isSecretName(basename(path).toLowerCase())) return "files of this name hold secrets";
  return isNever(file) ? "your setting rescueNever names it" : null;
}

/** A form of secret, with words that every text with one contains. */
interface Form {
  readonly words: readonly string[];
  readonly pattern: RegExp;
  readonly what: string;
}

/** Each pattern is read from a bounded number of characters on: none can take long. */
const forms: readonly Form[] = [
  {
    words: ["PRIVATE KEY"],
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/,
    what: "a private key",
  },
  { words: ["PuTTY-User-Key-File"], pattern: /PuTTY-User-Key-File-\d/, what: "a private key" },
  { words: ["AGE-SECRET-KEY-"], pattern: /AGE-SECRET-KEY-1[0-9A-Z]{20}/, what: "a private key" },
  {
    words: ["AKIA", "ASIA"],
    pattern: /(?<![0-9A-Z])A[KS]IA[0-9A-Z]{16}(?![0-9A-Z])/,
    what: "a token of AWS",
  },
  {
    words: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    pattern: /gh[pousr]_[0-9A-Za-z]{36}/,
    what: "a token of GitHub",
  },
  { words: ["github_pat_"], pattern: /github_pat_[0-9A-Za-z_]{22}/, what: "a token of GitHub" },
  { words: ["glpat-"], pattern: /glpat-[0-9A-Za-z_-]{20}/, what: "a token of GitLab" },
  { words: ["xox"], pattern: /xox[abeoprs]-[0-9A-Za-z-]{10}/, what: "a token of Slack" },
  { words: ["_live_"], pattern: /[rs]k_live_[0-9A-Za-z]{16}/, what: "a token of Stripe" },
  { words: ["AIza"], pattern: /AIza[0-9A-Za-z_-]{35}/, what: "a token of Google" },
  { words: ["npm_"], pattern: /npm_[0-9A-Za-z]{36}/, what: "a token of npm" },
  {
    words: ["sk-"],
    pattern: /(?<![0-9A-Za-z_-])sk-(?:ant-|proj-)?[0-9A-Za-z_-]{0,20}[0-9A-Za-z]{20}/,
    what: "a token of a model's service",
  },
  { words: ["pypi-AgE"], pattern: /pypi-AgE[0-9A-Za-z_-]{30}/, what: "a token of PyPI" },
  { words: ["SG."], pattern: /SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{40}/, what: "a token of SendGrid" },
  { words: ["dop_v1_"], pattern: /dop_v1_[0-9a-f]{64}/, what: "a token of DigitalOcean" },
  { words: ["hf_"], pattern: /(?<![0-9A-Za-z_])hf_[0-9A-Za-z]{34}/, what: "a token of Hugging Face" },
  {
    words: ["eyJ"],
    pattern: /eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10}/,
    what: "a JSON web token",
  },
];

/** Longest text that one of the forms matches, in characters. */
export const secretCharsMax = 8_192;

/** Returns what secret a content holds, or null: a private key block, or a token of a known form. */
export function secretIn(content: Buffer): string | null {
  const text = content.toString("latin1");
  // UTF-16 has a NUL beside each character of a token.
  return secretInText(text) ?? (text.includes("\0") ? secretInText(text.replaceAll("\0", "")) : null);
}

function secretInText(text: string): string | null {
  for (const { words, pattern, what } of forms)
    if (words.some(word => text.includes(word)) && pattern.test(text)) return what;
  return null;
}
