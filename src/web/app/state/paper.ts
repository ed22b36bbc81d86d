import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ChartContext, Drawing } from '../charts/drawing.ts';

/** A chart of a report, for a file of its own. */
export interface PaperChart {
  readonly title: string;
  readonly about: string;
  readonly legend: readonly { readonly label: string; readonly colour: number }[];
  readonly draw: (context: ChartContext) => Drawing;
}

/** Functions for components that are drawn once, in a report without scripts. */
export interface Paper {
  /** Creates the elements of charts. */
  readonly document: Document;
  /** Keeps a chart for a file of its own. */
  keep(chart: PaperChart): void;
}

/** The default is null: a page that a browser keeps current. */
export const PaperContext = createContext<Paper | null>(null);

/** Returns null in a browser. */
export function usePaper(): Paper | null {
  return useContext(PaperContext);
}
