/** A change with its test. */
interface ComparedValues {
  readonly before: number | null;
  readonly after: number | null;
  readonly nBefore: number;
  readonly nAfter: number;
}

export interface Member extends ComparedValues {
  readonly id: string | null;
  readonly name: string;
  readonly effect: number;
  readonly change: number | null;
  readonly verdict: 'significant' | 'noise' | 'not tested';
}

/** The parts of the response of `/data/explain` that the page shows. */
export interface Explanation {
  readonly brand: string;
  readonly from: string;
  readonly to: string;
  readonly beforeFrom: string;
  readonly beforeTo: string;
  readonly summary: string;
  readonly total: ComparedValues & {
    readonly change: number | null;
    readonly lower: number | null;
    readonly upper: number | null;
  };
  readonly causes: readonly {
    readonly rank: number;
    readonly sentence: string;
    readonly evidence: readonly string[];
  }[];
  readonly dimensions: readonly { readonly dimension: string; readonly members: readonly Member[] }[];
  readonly associations: readonly {
    readonly kind: string;
    readonly id: string;
    readonly sentence: string;
    readonly evidence: readonly string[];
  }[];
  readonly associationsWithinChance: number;
}
