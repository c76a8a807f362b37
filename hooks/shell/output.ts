/** What simple programs write, as far as their words and what they read tell. */
import { bounded, hole, type State, type Value } from "./variables.ts";
import { unescapedC } from "./words.ts";

/** With holes for what is not known. */
export function outputOf(name: string | null, args: readonly Value[], state: State): string {
  const write = name === null ? undefined : writers.get(name);
  return write === undefined
    ? hole
    : bounded(
        write(
          args.map(({ whole }) => whole),
          state,
        ),
      );
}

type Writer = (args: readonly string[], state: State) => string;

const silent: Writer = () => "";

const writers: ReadonlyMap<string, Writer> = new Map<string, Writer>([
  ["echo", echo],
  ["printf", printf],
  [
    "cat",
    (args, { input }) => (args.every(arg => arg === "-" || arg === "/dev/stdin") ? (input ?? hole) : hole),
  ],
  ["tee", (_, { input }) => input ?? hole],
  ["pwd", (_, { dir }) => `${dir ?? hole}\n`],
  // Where a program lies is not known, but what it is called.
  ["command", args => args.filter(arg => !arg.startsWith("-")).join("\n")],
  ["which", args => args.filter(arg => !arg.startsWith("-")).join("\n")],
  ["type", args => (/^-[pP]$/.test(args[0] ?? "") ? args.slice(1).join("\n") : hole)],
  ...[
    ":",
    "true",
    "false",
    "test",
    "[",
    "cd",
    "export",
    "unset",
    "set",
    "shift",
    "read",
    "trap",
    "shopt",
    "alias",
    "unalias",
    "wait",
    "sleep",
    "exec",
    "exit",
    "return",
    "local",
    "mkdir",
    "touch",
  ].map(name => [name, silent] as const),
]);

function echo(args: readonly string[]): string {
  const words = args.findIndex(arg => !/^-[neE]+$/.test(arg));
  const options = (words === -1 ? args : args.slice(0, words)).join("");
  const text = words === -1 ? "" : args.slice(words).join(" ");
  const isEscaped = options.lastIndexOf("e") > options.lastIndexOf("E");
  return (isEscaped ? unescapedC(text) : text) + (options.includes("n") ? "" : "\n");
}

const directive = /%(?:%|[-+ 0#]*\d*(?:\.\d*)?([sdiuxXobcq]))/g;

/** The format again for as long as there are words left. */
function printf(args: readonly string[]): string {
  const [format, ...words] = args[0] === "--" ? args.slice(1) : args;
  if (format === undefined || format.startsWith("-")) return hole;
  const plain = unescapedC(format);
  let text = "";
  let at = 0;
  do {
    const from = at;
    text += plain.replace(directive, (whole, kind: string | undefined) => {
      if (kind === undefined) return "%";
      const word = words[at++] ?? "";
      if (whole.length > 2 || kind === "q") return hole;
      return kind === "b" ? unescapedC(word) : kind === "c" ? word.charAt(0) : word;
    });
    // A format without directives is written once.
    if (at === from) break;
    text = bounded(text);
  } while (at < words.length && text !== hole);
  return text;
}
