def test_it(split, implicit, cornac, lenskit, rectools, recbole):
    print(implicit.user_factors.shape, type(implicit.user_factors))
    s = cornac.score(0)
    print(
        type(s),
        s.shape,
        s.dtype,
        list(cornac.uid_map.items())[:2]
        if hasattr(cornac, "uid_map")
        else cornac.train_set.uid_map,
    )
    recs = rectools.model.recommend(
        users=split.user_names, dataset=rectools.data, k=20, filter_viewed=True
    )
    print(recs.head(), recs.dtypes)
    from lenskit import batch

    print(
        batch.recommend(lenskit.pipeline, split.user_names, 20, n_jobs=1).to_df().head(3),
        batch.recommend(lenskit.pipeline, split.user_names, 20, n_jobs=1).to_df().dtypes,
    )
    print(
        recbole.data.user_num,
        recbole.data.item_num,
        recbole.data.token2id("user_id", split.user_names),
    )
    from ranx import Run

    r = Run.from_df(
        recs.astype({"score": float}), q_id_col="user_id", doc_id_col="item_id", score_col="score"
    )
    print(r, type(r.run), r.to_dataframe().head(2), r.to_dataframe().dtypes)
