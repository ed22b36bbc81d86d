/** A day at upstream with changes of every kind. */
export const ONE_DAY_LATER = {
  days: 1,
  lateAnswers: 5,
  editedResponses: 5,
  deletedResponses: 5,
  pausedPrompts: 1,
  regroupedPrompts: 3,
  deletedPrompts: 1,
  deletedCompetitors: 2,
  forumStatusChanges: 3,
  articleProgress: 2,
  actionsDone: 1,
} as const;
