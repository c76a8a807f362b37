/** The option that names clients, of `kite install` and `kite uninstall`. */
import { InvalidArgumentError, Option } from "commander";
import { clientNames } from "./list.ts";

/**
 * Takes several names behind one `--client`, or several of them, or names with commas between. `others`: words that it
 * takes besides, and does not offer.
 */
export function clientOption(says: string, others: readonly string[] = []): Option {
  const option = new Option("--client <name...>", says).choices(clientNames);
  return option.argParser<readonly string[]>((value, before = []) => {
    const names = value.split(",");
    const unknown = names.find(name => !clientNames.includes(name) && !others.includes(name));
    if (unknown !== undefined)
      throw new InvalidArgumentError(`Allowed choices are ${clientNames.join(", ")}.`);
    return [...before, ...names];
  });
}
