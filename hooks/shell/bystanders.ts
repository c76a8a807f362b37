/** Programs that may run another one though it is not known that they do: the command or the lines in their words. */

import { asValue, hole, unknown, type Value } from "./variables.ts";
import { isShell, programOf } from "./wrappers.ts";

/** These use git's name as a text, a file or a program elsewhere: the shell's own commands, printers, searchers. */
const idle: ReadonlySet<string> = new Set(
  (
    ": true false test [ cd chdir pushd popd dirs pwd echo printf cat tee which type hash whereis whatis apropos man info " +
    "help tldr export declare typeset readonly local let unset set shift read mapfile readarray trap shopt alias unalias " +
    "wait sleep exit return break continue history bind enable complete compgen compopt getopts jobs kill ulimit umask " +
    "grep egrep fgrep rg ag ack zgrep pgrep pkill killall ps ls cp mv rm ln mkdir rmdir touch chmod chown stat file du " +
    "basename dirname realpath readlink head tail less more wc sort uniq cut tr sed awk gawk mawk jq diff cmp comm " +
    "paste column fold nl seq say logger notify-send make gmake ninja just ssh mosh scp rsync docker podman nerdctl " +
    "docker-compose kubectl vagrant multipass lxc apt apt-get dnf yum apk pacman brew port snap"
  ).split(" "),
);

/** Words of these may be lines for a shell: every word, or the word after such an option. */
const liners: ReadonlyMap<string, RegExp | null> = new Map([
  ["tmux", null],
  ["screen", null],
  ["parallel", null],
  ["sem", null],
  ["hyperfine", null],
  ["concurrently", null],
  ["entr", /^-\w*s$/],
  ["nix-shell", /^--(?:run|command)$/],
  ["npx", /^(?:-c|--call)$/],
  ["npm", /^(?:-c|--call)$/],
]);

/** These put files behind a command without `{}`. */
const feeders: ReadonlySet<string> = new Set(["parallel", "fd", "fdfind"]);

export interface Behind {
  /** A call of git, or of a shell with its line, among the words. */
  readonly command: readonly Value[] | null;
  /** Words that a shell may get as its line. */
  readonly lines: readonly Value[];
}

/** What a program called `name` may run; null: only the shell knows the name, or there is none. */
export function behind(name: string | null, args: readonly Value[]): Behind {
  if (name !== null && (idle.has(name) || /^git(?:-|$)/.test(name))) return { command: null, lines: [] };
  const at = args.findIndex((first, i) => isCall(first, args[i + 1]));
  const option = name === null ? undefined : liners.get(name);
  const isLine = (i: number) => option === null || option?.test(args[i - 1]?.text ?? "") === true;
  const lines = args.filter(({ whole }, i) => /\bgit\s/.test(whole) && isLine(i)).map(withHoles);
  return { command: at === -1 ? null : filled(name, args.slice(at)), lines };
}

/** The command with what the program puts into it: files for `{}`, and words behind it. */
function filled(name: string | null, command: readonly Value[]): readonly Value[] {
  const end = command.findIndex(({ text }) => text.startsWith(":::"));
  const words = end === -1 ? command : command.slice(0, end);
  const opened = words.map(withHoles);
  const isOpen = opened.some((word, i) => word !== words[i]);
  // `parallel` puts the words after its `:::` behind the command, in its own way.
  return end !== -1 || (name !== null && feeders.has(name) && !isOpen) ? [...opened, unknown] : opened;
}

/** Many programs put a file in place of `{}`, or a part of its name in place of `{.}`; git writes `@{1}` itself. */
function withHoles(word: Value): Value {
  const whole = word.whole.replace(/(?<!@)\{[\d./#%]*\}/g, hole);
  return whole === word.whole ? word : asValue(whole);
}

function isCall(first: Value, second: Value | undefined): boolean {
  if (!first.known || second === undefined) return false;
  const name = programOf([first]);
  return name === "git" || (isShell(name) && /^-\w*c$/.test(second.text));
}
