import { describe } from "vitest";
import { scenarios } from "../bench/growth-steps.ts";
import { costsTheSame } from "./counted-growth.ts";

// Few, and so many that whatever walks through all of them stands out.
describe("a step costs what it changes, however many there are", () => costsTheSame(scenarios, 20, 400));
