import { findsPlanted } from "./plant.ts";

findsPlanted("locks");
