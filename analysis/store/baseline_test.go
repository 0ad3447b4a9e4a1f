package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name stands for what it was given last, and for nothing that is gone; importing again does not take it away.
func TestBaselines(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		for i := range 4 {
			importOne(t, s, &New{Name: fmt.Sprint(i), Run: scaling(4, float64(i+1), 0)})
		}
		of := func(name string) (ids []int64) {
			list, err := s.Baseline(ctx, name)
			require.NoError(t, err)
			for _, trial := range list {
				ids = append(ids, trial.ID)
			}
			return ids
		}
		require.NoError(t, s.SetBaseline(ctx, "main", []int64{1, 2, 2}))
		require.NoError(t, s.SetBaseline(ctx, "release", []int64{4}))
		require.Equal(t, []int64{1, 2}, of("main"))
		require.NoError(t, s.SetBaseline(ctx, "main", []int64{2, 3}))
		require.Equal(t, []int64{2, 3}, of("main"))
		require.Error(t, s.SetBaseline(ctx, "main", []int64{99}), "there is no such trial")
		require.Equal(t, []int64{2, 3}, of("main"), "all or nothing")

		require.EqualValues(t, 2, importOne(t, s, &New{Name: "again", Run: scaling(4, 2, 0), Metadata: map[string]string{"a": "b"}}).Trial)
		require.Equal(t, []int64{2, 3}, of("main"))
		require.NoError(t, s.Delete(ctx, []int64{2}))
		require.Equal(t, []int64{3}, of("main"))
		list, err := s.Baselines(ctx)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, "main", list[0].Name)
		require.NoError(t, s.SetBaseline(ctx, "main", nil))
		_, err = s.Baseline(ctx, "main")
		require.ErrorContains(t, err, `no baseline "main"; marple db baseline says what there is`)
	})
}
